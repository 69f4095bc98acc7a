"""The form of the files in config/, as models, from which config/README.md is derived.

Users write `ConfigFile`, `StudyFile` and `Method`; `assembly` turns them into `Config` and `Study`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, get_args

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from shiftbench.config.base_model import Model, Name
from shiftbench.config.claim_schema import Claim
from shiftbench.config.pipeline_parts import by_kind

Colour = Literal[
    "blue", "orange", "green", "red", "purple", "brown", "pink", "grey", "yellow", "sky"
]
"""Colours of figures that people with colour-vision deficiency can distinguish."""
Marker = Literal["o", "s", "D", "^", "v", "P", "X"]
Device = Literal["cpu", "gpu"]
Component = tuple[str, dict[str, Any]]
"""A component's name and its settings."""
Space = dict[str, Annotated[list[Any], MinLen(1)]]
"""The values to try of each setting, by component.key."""


def one_component(item: Any) -> Component:
    """Return name and settings of a name alone, or of a mapping of one name to its settings.

    Raises ValueError for any other form.
    """
    if isinstance(item, str):
        return item, {}
    if isinstance(item, dict) and len(item) == 1:
        name, settings = next(iter(item.items()))
        if isinstance(name, str) and isinstance(settings, dict | None):
            return name, settings or {}
    raise ValueError("write a name, or one name with its settings, as {name: {key: value}}")


def named_by_kind(pipeline: list[Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind, name and settings of each component of a pipeline, as a config writes it."""
    for kind, item in by_kind(pipeline):
        yield kind, *one_component(item)


LONGEST_LINE = 200
"""The most characters of a label, a title or a summary, which pages and figures show in one
line."""


def one_line(text: str) -> str:
    """Return a text that fits into a line of a page. Raises ValueError for any other text."""
    if not text.strip():
        raise ValueError("should not be empty")
    if len(text) > LONGEST_LINE or len(text.splitlines()) > 1:
        raise ValueError(f"should be one line of at most {LONGEST_LINE} characters")
    return text


OneLine = Annotated[str, AfterValidator(one_line)]
ComponentItem = Annotated[Component, BeforeValidator(one_component)]
MOST_MINUTES = 366 * 24 * 60
"""The longest time limit of a job: a year."""
MOST_MEMORY_MB = 64_000_000
"""The most megabytes of a job, more than any machine has: this refuses a number of bytes."""


class Resources(NamedTuple):
    """The resources of a job: processors, time limit in minutes, memory in megabytes."""

    threads: int
    minutes: int
    memory_mb: int


class Stream(BaseModel):
    """A stream: its family, with the family's settings beside it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    family: str = Field(description="The stream's generator or reader, one of the families below.")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the family."""
        return self.model_extra or {}


class Needs(Model):
    """The resources of a method's jobs, where they differ from those of the study.

    Of these only a GPU is part of a spec, because the others change no result.
    """

    threads: Annotated[int, Ge(1), Le(1024)] | None = Field(
        None, description="Processors of a job of this method; by default those of the study."
    )
    minutes: Annotated[int, Ge(1), Le(MOST_MINUTES)] | None = Field(
        None, description="Time limit of a job of this method; by default that of the study."
    )
    memory_mb: Annotated[int, Ge(500), Le(MOST_MEMORY_MB)] | None = Field(
        None,
        description="Memory of a job of this method in megabytes; by default that of the study.",
    )
    device: Device | None = Field(
        None, description="The device of this method's runs; by default that of the study."
    )


class Method(Needs):
    """A named pipeline: one entry of a file in `methods/`."""

    label: OneLine = Field(description="The method's name in figures and tables.")
    cite: Annotated[list[str], MinLen(1)] = Field(
        description="Keys of the works that propose the method, from `docs/papers.md`."
    )
    summary: OneLine = Field(description="The idea of the method, in one line.")
    colour: Colour | None = Field(
        None,
        description="The method's colour in figures; the next free colour if another method of "
        "the study has the same colour and marker.",
    )
    marker: Marker | None = Field(None, description="The method's marker in figures.")
    pipeline: Annotated[list[ComponentItem], MinLen(1)] | None = Field(
        None,
        description="Components: combinators from the outermost inwards, and a learner last. Each "
        "is a name, or one name with its settings.",
    )
    search: Space = Field(
        {},
        description="The values that tuning tries, as `component.key: [values]`, unless a study "
        "gives others.",
    )
    origin: str = Field("", description="The source of the settings that are given here.")
    bound: bool = Field(
        False,
        description="The method sees more than the others, such as the data of all tasks at once: "
        "it is a bound to compare with, which figures and the site show and do not rank.",
    )
    quoted: str = Field(
        "",
        description="The key of a work and its table that prints the method's numbers, in place of "
        "a pipeline: the numbers stand beside ours, and no study runs the method.",
    )


class StudyMethod(Needs):
    """A method as a study has it, with all its settings.

    method: its name in the library, None for a pipeline that only the study has. The other keys are
    those of `Method`, unless the study changes them.
    """

    pipeline: Annotated[list[ComponentItem], MinLen(1)]
    method: str | None = None
    label: OneLine = ""
    colour: Colour | None = None
    marker: Marker | None = None
    search: Space = Field({})
    bound: bool = False


class Tuning(Model):
    """Trials of settings, the same number for every method, judged on validation data."""

    metric: str = Field(description="The metric whose mean over seeds and tasks decides.")
    trials: Annotated[int, Ge(1), Le(100_000)] = Field(
        description="Number of trials of every method. The first is the method as configured; the "
        "others are points of its grid, drawn at random if the grid has more."
    )
    seeds: Annotated[int, Ge(1), Le(100_000)] = Field(1, description="Repetitions of each trial.")
    streams: dict[str, Any] = Field(
        description="Settings of the streams that differ in trials: `judge_on: validation`, and "
        "realisations that the study is not judged on. Keep the number of tasks: forgetting does "
        "not show on fewer."
    )
    methods: dict[Name, Space] = Field(
        {}, description="The values to try for some methods, in place of their own `search`."
    )


class Study(Model):
    """Streams x methods x seeds x metrics, and the artefacts of their comparison."""

    title: OneLine = Field(description="The subject of the study; the heading of its artefacts.")
    question: str = Field("", description="The question that the study answers.")
    streams: Annotated[list[Name], MinLen(1)] = Field(
        description="Streams by name, each with its family and settings; or a list of names from "
        "the config's `streams`."
    )
    axes: dict[str, dict[str, list[Any]]] = Field(
        {},
        description="Settings of the study's one stream with their values, which make a grid of "
        "streams; see below.",
    )
    model: ComponentItem | None = Field(
        None, description="The network that the learners fit, with its settings."
    )
    methods: Annotated[dict[Name, StudyMethod], MinLen(1)] = Field(
        description="The methods to compare: a list of names, or a mapping of names to changes. A "
        "change is `component.key: value`; `from: METHOD` takes a method under another name, "
        "`label` renames it in figures, and `threads`, `minutes`, `memory_mb` and `device` are the "
        "resources of its jobs. A list in place of changes is a pipeline."
    )
    seeds: Annotated[int, Ge(1), Le(100_000)] = Field(description="Number of repetitions.")
    seeds_per_job: Annotated[int, Ge(1)] | None = Field(
        None, description="Repetitions that one job of this study runs side by side."
    )
    reveals: list[Literal["boundaries", "task_identity"]] = Field(
        [], description="The information that the protocol gives to learners that need it."
    )
    drift: Literal["before-prediction", "after-prediction"] = Field(
        "before-prediction",
        description="The time of a learner's time update, in which a beam broadens and `reset` "
        "forgets: before a task is predicted, since it may have changed, or after, so that the "
        "posterior of the task before predicts it. For `reset` on tasks of one row this decides "
        "everything: with `before-prediction` it predicts from the prior alone.",
    )
    keeps: list[Literal["predictions"]] = Field(
        [],
        description="What runs keep beside their scores. `predictions`: the class probabilities "
        "of every row, and their mean entropy over draws, for training rows before each task and "
        "for its test rows after it; metrics such as `auc` need them. They take 4 bytes x (classes "
        "+ 2) for each seed, task and row, in `scores.zarr.zip` too: 24 MB for 5 seeds, 10 tasks, "
        "10,000 rows and 10 classes.",
    )
    looks: Annotated[int, Ge(1), Le(1000)] = Field(
        1,
        description="How often learners are judged on test data while they learn a task, after "
        "equal shares of their steps; the last time is the end of the task. Metrics such as "
        "`stability_gap` read it. Training costs about as much as without, and each look costs its "
        "predictions. For networks only; results do not depend on it otherwise.",
    )
    metrics: Annotated[list[str], MinLen(1)] = Field(description="Names of metrics.")
    baseline: Name | None = Field(
        None, description="The method that others are compared with, task by task."
    )
    reference: Name | None = Field(
        None,
        description="The method that starts from scratch, to which forward transfer is relative.",
    )
    artefacts: list[Name] = Field([], description="Figures and tables to make.")
    words: list[str] = Field(
        [], description="Words whose trajectories are drawn; by default those that move farthest."
    )
    tuning: Tuning | None = Field(
        None,
        description="Trials that choose the settings of every method of the study.",
    )
    judges_claims: bool = Field(
        True,
        description="Whether the study judges claims of papers. Set it to false where methods have "
        "settings that differ from a paper's on purpose. Always false for a study with `axes`.",
    )
    configurations: list[Annotated[Space, MinLen(1)]] = Field(
        [],
        description="Spaces of settings, each as `component.key: [values]`. Every seed then has "
        "settings of its own, the same for all methods: one of the spaces, and one value of each "
        "setting, at random. A job has one seed.",
    )
    threads: Annotated[int, Ge(1), Le(1024)] = Field(1, description="Processors of a job.")
    minutes: Annotated[int, Ge(1), Le(MOST_MINUTES)] = Field(
        60,
        description="Time limit of a job. At 90 % of it a run saves its state and stops. On Slurm "
        "it goes back into the queue. Without a cluster it counts as failed, and the same "
        "command resumes it. Jobs of other kinds have no limit there. No result depends on the "
        "limit.",
    )
    memory_mb: Annotated[int, Ge(500), Le(MOST_MEMORY_MB)] = Field(
        2500, description="Memory of a job in megabytes."
    )
    device: Device = Field(
        "cpu",
        description="The device of runs. `gpu` requests a GPU from the cluster for each run that "
        "trains with TensorFlow, PyTorch or JAX; other runs stay on the processor. Results are the "
        "same to the byte on processors only: a run on a GPU is a different run, and its store "
        "says so.",
    )
    instructions: Literal["portable", "native"] = Field(
        "portable",
        description="The processor instructions that runs may use. Portable ones are those of any "
        "x86-64 processor with AVX2, and gave the same bytes on all processors that we tried; "
        "native ones train large networks up to 1.8 times as fast, and agree between processors up "
        "to rounding.",
    )
    origin: str = Field("", description="The source of the hyper-parameters.")
    cuts: str = Field("", description="Reductions against the paper, which captions state.")

    def label(self, name: str) -> str:
        """Return a method's name in figures: its label, or its key if others have this label."""
        label = self.methods[name].label
        is_unique = [other.label for other in self.methods.values()].count(label) == 1
        return label if label and is_unique else name

    def resources(self, *methods: str) -> Resources:
        """Return the resources of a job that methods share: the most that any of them needs."""
        keys = Resources._fields
        return Resources(*(max(self.resource(name, key) for name in methods) for key in keys))

    def resource(self, name: str, key: str) -> Any:
        """Return a resource of a method's runs: its own, or else that of the study."""
        own = getattr(self.methods[name], key)
        return getattr(self, key) if own is None else own

    @property
    def method_styles(self) -> dict[str, tuple[str, str]]:
        """Return colour and marker of each method: its own, or the next free ones.

        A method without a colour gets one that no other has, as long as there is one.
        """
        markers = get_args(Marker)
        all_styles = [(colour, marker) for marker in markers for colour in get_args(Colour)]
        claimed = {(method.colour, method.marker) for method in self.methods.values()}
        used = {method.colour for method in self.methods.values()}
        styles: dict[str, tuple[str, str]] = {}
        for name, method in self.methods.items():
            colour = method.colour
            own = [(colour, method.marker)] if colour and method.marker else []
            same_colour = [(colour, marker) for marker in markers] if colour else []
            taken = used | {of for of, _ in styles.values()}
            new_colour = [] if colour else [style for style in all_styles if style[0] not in taken]
            preferred = (*same_colour, *new_colour, *all_styles)
            others = [style for style in preferred if style not in claimed]
            free = (style for style in (*own, *others) if style not in styles.values())
            styles[name] = next(free, all_styles[len(styles) % len(all_styles)])
        return styles

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """The streams of a study with axes, each with its value on every axis; empty without."""
        if not self.axes:
            return {}
        values = [next(iter(settings.values())) for settings in self.axes.values()]
        points = (dict(zip(self.axes, point, strict=True)) for point in product(*values))
        return dict(zip(self.streams, points, strict=True))

    @property
    def method_of(self) -> dict[str, str]:
        """The first method of the study for each method of the library, with the latter's name."""
        found: dict[str, str] = {}
        for name, method in self.methods.items():
            if method.method and method.method not in found.values():
                found[name] = method.method
        return found

    @property
    def pipelines(self) -> dict[str, list[Component]]:
        """The pipelines of all methods."""
        return {name: method.pipeline for name, method in self.methods.items()}


class Config(Model):
    """A config with all that it selects; the stem of its file names the folder in results/."""

    seeds_per_job: Annotated[int, Ge(1)] = Field(
        10, description="Repetitions that one job runs side by side."
    )
    streams: dict[Name, Stream] = Field({})
    studies: Annotated[dict[Name, Study], MinLen(1)]
    claims: dict[Name, Claim] = Field({}, description="Claims of papers, by name.")

    def blocks(self, study: str) -> list[tuple[int, int]]:
        """Return the first and last seed of each job of a study."""
        seeds = self.studies[study].seeds
        size = self.studies[study].seeds_per_job or self.seeds_per_job
        size = 1 if self.studies[study].configurations else size
        return [(first, min(first + size, seeds) - 1) for first in range(0, seeds, size)]


class StudyFile(Model):
    """The keys of a study's file beside those of a study."""

    start: str | None = Field(
        None, alias="from", description="Another study, whose keys are taken unless given here."
    )
    settings: dict[str, Any] = Field(
        {},
        description="Changes of all methods with a component, as `component.key: value`; a change "
        "of one method takes precedence.",
    )
    budgets: dict[Name, dict[str, Any]] = Field(
        {},
        description="Budgets by name, such as `embedded`, `cpu`, `paper`: any keys of a study, "
        "which replace its own. A list of `methods` picks; a mapping changes and adds.",
    )
    definitions: Any = Field(None, description="Free for YAML anchors, to be used below.")


class ConfigFile(Model):
    """A config file."""

    start: str | None = Field(
        None, alias="from", description="Another config, by path or name, to change and add to."
    )
    budget: str | None = Field(
        None,
        description="The budget of the studies that are named here; by default, studies of "
        "`config/embedded.yaml` are as they are there.",
    )
    studies: dict[Name, Any] | list[Any] = Field(
        description="A list picks studies by name; a mapping adds studies, or changes those of "
        "`from`. A study is named, or starts from another with `from: STUDY` and changes, or is "
        "written out here; see below."
    )
    folder: str | None = Field(
        None,
        description="The folder where relative paths start and where your own `studies/`, "
        "`methods/` and `claims/` lie, relative to the file; by default the file's own folder.",
    )
    seeds_per_job: Annotated[int, Ge(1)] = Field(
        10, description="Repetitions that one job runs side by side."
    )
    streams: dict[Name, Stream] = Field({}, description="Streams by name, for several studies.")
    methods: dict[Name, Method] = Field({}, description="Methods of your own, by name.")
    components: str | list[str] = Field(
        [],
        description="Folders of your own components, relative to this file: `my_parts` with "
        "`my_parts/learners/NAME.py`, and likewise for every kind.",
    )
    definitions: Any = Field(None, description="Free for YAML anchors, to be used below.")
