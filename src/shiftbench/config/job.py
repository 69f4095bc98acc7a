"""A job of the plan: its files, its spec and its resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shiftbench.config import specs
from shiftbench.config.schema import Resources
from shiftbench.config.tuning import TRIALS

LIGHT = Resources(1, 30, 2500)
"""Resources of jobs that belong to no study."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job of the workflow.

    wildcards: values of the rule's wildcards, in their order. name: shown to users. study: empty if
    several studies share the job. method: the method of a run. wanted: outputs that are targets of
    the workflow. user_files: inputs whose paths the prefix of a Snakemake module does not change.
    options: further arguments of `shiftbench job`, which change no result.
    """

    rule: str
    wildcards: tuple[str, ...] = ()
    name: str
    study: str = ""
    method: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    make_spec: Callable[[], specs.Spec]
    resources: Resources = LIGHT
    priority: int = 0
    user_files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @cached_property
    def spec(self) -> specs.Spec:
        """Return all that the result depends on."""
        return self.make_spec()

    @property
    def key(self) -> tuple[str, ...]:
        """Return the rule with its wildcards: no two jobs of a config share it."""
        return (self.rule, *self.wildcards)

    def is_of(self, studies: set[str], streams: set[str]) -> bool:
        """Return whether the job is of one of the studies, or builds one of the streams.

        Choices of settings also belong to the study of the trials.
        """
        if not self.study:
            return bool(streams & {*self.wildcards})
        trials = self.rule == "choose_settings" and self.study + TRIALS in studies
        return self.study in studies or trials

    @property
    def gpus(self) -> int:
        """Return how many GPUs the job asks for."""
        return int(self.spec.get("device") == "gpu")

    def words(
        self, file: Path, scratch: Path, raw_data: Path | str, users: Iterable[Path | str]
    ) -> list[str]:
        """Return the words after `python -m shiftbench`, up to the files that it reads and makes.

        file: its spec. scratch: folder of saved states. users: folders of the user's components.
        """
        stack = ["--stack", self.spec.get("stack", "light")]
        if "stack" in self.spec:
            stack += ["--instructions", self.spec["instructions"]]
        folders = [str(folder) for folder in users]
        return [
            *(*stack, "job", str(file), "--scratch", str(scratch), "--raw", str(raw_data)),
            *(("--components", *folders) if folders else ()),
            *self.options,
        ]
