"""A job of the plan: its files, its spec and what it asks of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shiftbench.config import specs
from shiftbench.config.schema import Resources
from shiftbench.config.tuning import TRIALS

LIGHT = Resources(1, 30, 2500)
"""Resources of jobs about which no study says anything."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job of the workflow.

    wildcards: values of the rule's wildcards, in their order. name: for people. study: empty
    where several share the job. method: of a run. wanted: outputs that the workflow asks for,
    whoever needs them. user_files: inputs that no prefix of a module moves. options: further
    arguments of `shiftbench job`, which change no result.
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

        Choices of settings are of the study of the trials, too.
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

        file: its spec. scratch: folder of states that are saved. users: folders of components.
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
