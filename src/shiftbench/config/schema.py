"""The form of the files in config/: one model a level, the source of config/README.md.

`ConfigFile`, `StudyFile` and `Method` are what people write; `Config` and `Study` are what
`composition` makes of it.
"""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, get_args

from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shiftbench.config.base_model import Model, Name
from shiftbench.config.claim_schema import Claim

Colour = Literal[
    "blue", "orange", "green", "red", "purple", "brown", "pink", "grey", "yellow", "sky"
]
"""Colours of figures, which people with colour-vision deficiency can tell apart."""
Marker = Literal["o", "s", "D", "^", "v", "P", "X"]
Device = Literal["cpu", "gpu"]
Component = tuple[str, dict[str, Any]]
"""A component's name and its settings."""
Space = dict[str, Annotated[list[Any], MinLen(1)]]
"""Settings, as component.key, and the values to try."""


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


MOST_MINUTES = 366 * 24 * 60
"""Of a job: a year."""
MOST_MEMORY_MB = 64_000_000
"""Of a job: what no machine has; so a number of bytes is told from one of megabytes."""


class Resources(NamedTuple):
    """What a job asks of the machine: processors, a time limit in minutes, megabytes."""

    threads: int
    minutes: int
    memory_mb: int


class Stream(BaseModel):
    """A stream: its family, and the family's settings beside it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    family: str = Field(description="How the stream is made, one of the families below.")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the family."""
        return self.model_extra or {}


class Needs(Model):
    """What a job of a method needs, where that is other than what its study says.

    No part of a spec, but for a GPU: more time, or another machine, changes no result.
    """

    threads: Annotated[int, Ge(1), Le(1024)] | None = Field(
        None, description="Processors of a job of this method; those of the study if not given."
    )
    minutes: Annotated[int, Ge(1), Le(MOST_MINUTES)] | None = Field(
        None, description="Time limit of a job of this method; that of the study if not given."
    )
    memory_mb: Annotated[int, Ge(500), Le(MOST_MEMORY_MB)] | None = Field(
        None, description="Memory of a job of this method in megabytes; as the study says if not."
    )
    device: Device | None = Field(
        None, description="What runs of this method compute on; as the study says if not given."
    )


class Method(Needs):
    """A named pipeline: one entry of a file in `methods/`."""

    label: str = Field(description="Its name in figures and tables.")
    cite: Annotated[list[str], MinLen(1)] = Field(
        description="Keys of the works that propose it, from `docs/papers.md`."
    )
    summary: str = Field(description="What it is, in one line.")
    colour: Colour | None = Field(
        None,
        description="Its colour in figures that tell methods apart by colour; where several have "
        "the same look, the next free one.",
    )
    marker: Marker | None = Field(None, description="Its marker in these figures.")
    pipeline: Annotated[list[ComponentItem], MinLen(1)] | None = Field(
        None,
        description="Components: combinators from the outermost inwards, and a learner last; an "
        "item is a name, or one name with its settings.",
    )
    search: Space = Field(
        {}, description="What tuning tries, as `component.key: [values]`, unless a study says else."
    )
    origin: str = Field("", description="Where the settings come from that are written here.")
    bound: bool = Field(
        False,
        description="It is given what the others are not, such as the data of all tasks at once: a "
        "bound to compare with, which rankings of the site leave out.",
    )
    missing: str = Field("", description="What it would need, where it cannot run yet.")


class StudyMethod(Needs):
    """A method of a study, with all its settings.

    method: its name; None for a pipeline that a study has of its own. colour, marker: those that
    the method would have. search: what tuning tries. bound: as of the method.
    """

    pipeline: Annotated[list[ComponentItem], MinLen(1)]
    method: str | None = None
    label: str = ""
    colour: Colour | None = None
    marker: Marker | None = None
    search: Space = Field({})
    bound: bool = False


class Tuning(Model):
    """Trials of settings, as many for every method, on data that the study is not judged on."""

    metric: str = Field(description="The metric whose mean over seeds and tasks decides.")
    trials: Annotated[int, Ge(1), Le(100_000)] = Field(
        description="Number of trials of every method: as it is configured, and so many others of "
        "its grid, drawn at random where that has more."
    )
    seeds: Annotated[int, Ge(1), Le(100_000)] = Field(1, description="Repetitions of each trial.")
    streams: dict[str, Any] = Field(
        description="Settings of the streams that are other for trials: `judge_on: validation`, "
        "and realisations that the study is not judged on. Fewer tasks are too short to judge "
        "forgetting."
    )
    methods: dict[Name, Space] = Field(
        {}, description="What is tried for some methods in place of their own `search`."
    )


class Study(Model):
    """Streams x methods x seeds x metrics, and the artefacts of their comparison."""

    title: str = Field(description="What the study compares; the heading of its artefacts.")
    question: str = Field("", description="What the study asks.")
    streams: Annotated[list[Name], MinLen(1)] = Field(
        description="Streams by name, each with its family and settings; or a list of names from "
        "the config's `streams`."
    )
    axes: dict[str, dict[str, list[Any]]] = Field(
        {},
        description="Settings of the study's one stream with the values of each, which make a grid "
        "of streams; see below.",
    )
    model: ComponentItem | None = Field(
        None, description="The network that the learners fit, with its settings."
    )
    methods: Annotated[dict[Name, StudyMethod], MinLen(1)] = Field(
        description="What is compared: a list of methods, or a mapping of names to changes. A "
        "change is `component.key: value`; `from: METHOD` takes a method under another name, "
        "`label` renames it in figures, `threads`, `minutes`, `memory_mb` and `device` are what "
        "its jobs need, and a list in their place is a pipeline of its own."
    )
    seeds: Annotated[int, Ge(1), Le(100_000)] = Field(description="Number of repetitions.")
    seeds_per_job: Annotated[int, Ge(1)] | None = Field(
        None, description="Repetitions that one job runs side by side, for this study."
    )
    reveals: list[Literal["boundaries", "task_identity"]] = Field(
        [], description="What the protocol tells the learners that declare that they need it."
    )
    drift: Literal["before-prediction", "after-prediction"] = Field(
        "before-prediction",
        description="When a learner's time update happens, in which a beam broadens and `reset` "
        "forgets: before a task is predicted, so that it may have changed, or after, so that what "
        "was learnt from the task before predicts it. Decides everything for `reset` on tasks of "
        "one row, which predicts from the prior alone in the first order.",
    )
    keeps: list[Literal["predictions"]] = Field(
        [],
        description="What runs keep beside their scores. `predictions`: class probabilities of "
        "every row, and the mean entropy of a draw's, of training rows before each task and of its "
        "own test rows after it, which metrics such as `auc` are taken from. 4 bytes x (classes + "
        "2) a seed, task and row, in `scores.zarr.zip` too: 24 MB for 5 seeds, 10 tasks, 10,000 "
        "rows and 10 classes.",
    )
    metrics: Annotated[list[str], MinLen(1)] = Field(description="Names of metrics.")
    baseline: Name | None = Field(
        None, description="The method that others are compared with, task by task."
    )
    reference: Name | None = Field(
        None, description="The method that starts from scratch, from which forward transfer counts."
    )
    artefacts: list[Name] = Field([], description="Figures and tables to make.")
    words: list[str] = Field(
        [], description="Words whose trajectories are drawn; those that move farthest if empty."
    )
    tuning: Tuning | None = Field(
        None,
        description="Trials that choose the settings of every method of the study.",
    )
    configurations: list[Annotated[Space, MinLen(1)]] = Field(
        [],
        description="Spaces of settings, each as `component.key: [values]`. Seed s of every method "
        "then has settings of its own, the same for all methods: one value of each setting, at "
        "random, of one of the spaces. A job has one seed.",
    )
    threads: Annotated[int, Ge(1), Le(1024)] = Field(1, description="Processors of a job.")
    minutes: Annotated[int, Ge(1), Le(MOST_MINUTES)] = Field(
        60, description="Time limit of a job; it saves its state and stops at 90 % of it."
    )
    memory_mb: Annotated[int, Ge(500), Le(MOST_MEMORY_MB)] = Field(
        2500, description="Memory of a job in megabytes."
    )
    device: Device = Field(
        "cpu",
        description="What runs compute on. `gpu` asks the cluster for one, for each run that "
        "trains by TensorFlow, PyTorch or JAX; other runs stay on the processor. Bytes are the "
        "same on processors only: on a GPU it is another run, whose store says so.",
    )
    instructions: Literal["portable", "native"] = Field(
        "portable",
        description="Instructions of the processor that runs may use: portable ones are those of "
        "any x86-64 processor with AVX2, and gave the same bytes on those that were tried; "
        "native ones train large networks up to 1.8 "
        "times as fast, and agree between processors to rounding.",
    )
    origin: str = Field("", description="Where the hyper-parameters come from.")
    cuts: str = Field("", description="What is reduced against the paper; stands in captions.")

    def label(self, name: str) -> str:
        """What figures call a method: its label, or its name where several have that."""
        label = self.methods[name].label
        alone = [other.label for other in self.methods.values()].count(label) == 1
        return label if label and alone else name

    def resources(self, *methods: str) -> Resources:
        """What a job asks for that some methods share: the most that any of them needs."""
        keys = Resources._fields
        return Resources(*(max(self.resource(name, key) for name in methods) for key in keys))

    @property
    def looks(self) -> dict[str, tuple[str, str]]:
        """Colour and marker of each method: its own, or the next free ones, if there are any."""
        markers = get_args(Marker)
        every = [(colour, marker) for marker in markers for colour in get_args(Colour)]
        claimed = {(one.colour, one.marker) for one in self.methods.values()}
        found: dict[str, tuple[str, str]] = {}
        for name, one in self.methods.items():
            own = [(one.colour, one.marker)] if one.colour and one.marker else []
            alike = [(one.colour, marker) for marker in markers] if one.colour else []
            others = [look for look in (*alike, *every) if look not in claimed]
            free = (look for look in (*own, *others) if look not in found.values())
            found[name] = next(free, every[len(found) % len(every)])
        return found

    def resource(self, variant: str, key: str) -> Any:
        """A resource of the runs of a variant: its own, or else that of the study."""
        own = getattr(self.methods[variant], key)
        return getattr(self, key) if own is None else own

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """The streams of a study with axes, each with its value on every axis; else nothing."""
        if not self.axes:
            return {}
        values = [next(iter(settings.values())) for settings in self.axes.values()]
        places = (dict(zip(self.axes, point, strict=True)) for point in product(*values))
        return dict(zip(self.streams, places, strict=True))

    @property
    def standing(self) -> dict[str, str]:
        """The variants that stand for a method, with its name: the first of each."""
        found: dict[str, str] = {}
        for name, variant in self.methods.items():
            if variant.method and variant.method not in found.values():
                found[name] = variant.method
        return found

    @property
    def pipelines(self) -> dict[str, list[Component]]:
        """The pipelines of all methods."""
        return {name: variant.pipeline for name, variant in self.methods.items()}


class Config(Model):
    """A whole config, with all that it picks; the stem of its file names the folder in results/."""

    seeds_per_job: Annotated[int, Ge(1)] = Field(
        10, description="Repetitions that one job runs side by side."
    )
    streams: dict[Name, Stream] = Field({})
    studies: Annotated[dict[Name, Study], MinLen(1)]
    claims: dict[Name, Claim] = Field({}, description="What papers claim, by name.")

    def blocks(self, study: str) -> list[tuple[int, int]]:
        """First and last seed of each job of a study."""
        seeds = self.studies[study].seeds
        size = self.studies[study].seeds_per_job or self.seeds_per_job
        size = 1 if self.studies[study].configurations else size
        return [(first, min(first + size, seeds) - 1) for first in range(0, seeds, size)]


class StudyFile(Model):
    """What a study's file has beside the keys of a study."""

    start: str | None = Field(
        None, alias="from", description="Another study, whose keys hold where this says nothing."
    )
    settings: dict[str, Any] = Field(
        {},
        description="Changes, as `component.key: value`, of all methods with this component; what "
        "is said of one method beats them.",
    )
    budgets: dict[Name, dict[str, Any]] = Field(
        {},
        description="By name, such as `embedded`, `cpu`, `paper`: any keys of a study, which then "
        "hold. A list of `methods` picks; a mapping changes and adds.",
    )
    definitions: Any = Field(None, description="Free; a place for YAML anchors to be used below.")


class ConfigFile(Model):
    """A config file."""

    start: str | None = Field(
        None, alias="from", description="Another config, by path or name, to change and add to."
    )
    budget: str | None = Field(
        None,
        description="Which of their budgets the studies have that are picked here; if not given, "
        "studies of `config/embedded.yaml` are as they are there.",
    )
    studies: dict[Name, Any] | list[Any] = Field(
        description="A list picks studies by name; a mapping adds, or changes those of `from`. A "
        "study is named, or started from another with `from: STUDY` and changed, or written out "
        "here; see below."
    )
    folder: str | None = Field(
        None,
        description="Where relative paths start, and `studies/`, `methods/` and `claims/` of one's "
        "own lie, from the folder of the file; that folder itself if not given.",
    )
    seeds_per_job: Annotated[int, Ge(1)] = Field(
        10, description="Repetitions that one job runs side by side."
    )
    streams: dict[Name, Stream] = Field({}, description="Streams by name, for several studies.")
    methods: dict[Name, Method] = Field({}, description="Methods of your own, by name.")
    components: str | list[str] = Field(
        [],
        description="Folders of components of your own, relative to this file: `my_parts` with "
        "`my_parts/learners/NAME.py`, and so for every kind.",
    )
    definitions: Any = Field(None, description="Free; a place for YAML anchors to be used below.")
