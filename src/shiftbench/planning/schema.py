"""The form of the config file: one model a level, the source of config/README.md."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
"""A part of paths, at most two of them in a file name, which has 255 bytes: see tune.smk."""
Component = tuple[str, dict[str, Any]]
"""A component's name and its settings."""


def one_component(item: Any) -> Component:
    """A bare name, or a mapping of one name to its settings, as (name, settings).

    ValueError for anything else.
    """
    if isinstance(item, str):
        return item, {}
    if isinstance(item, dict) and len(item) == 1:
        name, settings = next(iter(item.items()))
        if isinstance(name, str) and isinstance(settings, dict | None):
            return name, settings or {}
    raise ValueError("write a name, or one name with its settings, as {name: {key: value}}")


ComponentItem = Annotated[Component, BeforeValidator(one_component)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Stream(BaseModel):
    """A stream: its family, and the family's settings beside it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    family: str = Field(description="How the stream is made, one of the families below.")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the family."""
        return self.model_extra or {}


class Tuning(_Model):
    """Trials of settings, as many for each learner, on data that the study is not judged on."""

    metric: str = Field(description="The metric whose mean over seeds and tasks decides.")
    trials: Annotated[int, Ge(1), Le(100_000)] = Field(
        description="Number of trials of each learner: its grid or, where that has more points, a "
        "random part of it."
    )
    seeds: Annotated[int, Ge(1), Le(100_000)] = Field(1, description="Repetitions of each trial.")
    streams: dict[str, Any] = Field(
        description="Settings of the streams that are other for trials: `judge_on: validation`, "
        "and for example fewer tasks."
    )
    learners: Annotated[
        dict[Name, Annotated[dict[str, Annotated[list[Any], MinLen(1)]], MinLen(1)]], MinLen(1)
    ] = Field(description="For each learner the settings, as component.key, and their values.")


class Study(_Model):
    """Streams x learners x seeds x metrics, and the artefacts of their comparison."""

    title: str = Field(description="What the study asks; the heading of its artefacts.")
    streams: Annotated[list[Name], MinLen(1)] = Field(description="Names from `streams` above.")
    model: ComponentItem | None = Field(
        None, description="The network that the learners fit, with its settings."
    )
    learners: Annotated[dict[Name, Annotated[list[ComponentItem], MinLen(1)]], MinLen(1)] = Field(
        description="Variants. Each is a list of components: combinators from the outermost "
        "inwards, and a learner last; an item is a name, or one name with its settings."
    )
    seeds: Annotated[int, Ge(1), Le(100_000)] = Field(description="Number of repetitions.")
    seeds_per_job: Annotated[int, Ge(1)] | None = Field(
        None, description="Repetitions that one job runs side by side, for this study."
    )
    reveals: list[Literal["boundaries", "task_identity"]] = Field(
        [], description="What the protocol tells the learners that declare that they need it."
    )
    metrics: Annotated[list[str], MinLen(1)] = Field(description="Names of metrics.")
    artefacts: list[Name] = Field([], description="Figures and tables to make.")
    words: list[str] = Field(
        [], description="Words whose trajectories are drawn; those that move farthest if empty."
    )
    tuning: Tuning | None = Field(
        None, description="Trials that choose settings; each learner then also runs as tuned."
    )
    threads: Annotated[int, Ge(1)] = Field(1, description="Processors of a job.")
    minutes: Annotated[int, Ge(1)] = Field(
        60, description="Time limit of a job; it saves its state and stops at 90 % of it."
    )
    memory_mb: Annotated[int, Ge(500)] = Field(2500, description="Memory of a job in megabytes.")
    instructions: Literal["portable", "native"] = Field(
        "portable",
        description="Instructions of the processor that runs may use: portable ones give the same "
        "bytes on every x86-64 processor with AVX2; native ones train large networks up to 1.8 "
        "times as fast, and agree between processors to rounding.",
    )
    origin: str = Field("", description="Where the hyper-parameters come from.")
    cuts: str = Field("", description="What is reduced against the paper; stands in captions.")


class Config(_Model):
    """A config file; its stem names the folder in results/."""

    seeds_per_job: Annotated[int, Ge(1)] = Field(
        10, description="Repetitions that one job runs side by side."
    )
    definitions: Any = Field(None, description="Free; a place for YAML anchors to be used below.")
    streams: Annotated[dict[Name, Stream], MinLen(1)] = Field(description="The streams, by name.")
    studies: Annotated[dict[Name, Study], MinLen(1)] = Field(description="The studies, by name.")

    def blocks(self, study: str) -> list[tuple[int, int]]:
        """First and last seed of each job of a study."""
        seeds = self.studies[study].seeds
        size = self.studies[study].seeds_per_job or self.seeds_per_job
        return [(first, min(first + size, seeds) - 1) for first in range(0, seeds, size)]
