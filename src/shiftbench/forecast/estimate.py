"""Estimates of what a run would cost, from the costs of the nearest earlier runs.

Nearest is the run of the same settings; then one of the same components and model whose work is
nearest, then one of the same learner. The cost grows with the work (cost_model.py), at the rate of
that run where the work is alike, and the farther it is, the more at the rate of all that is
published.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from shiftbench.forecast import records
from shiftbench.forecast.records import Record

NEAR = 5
"""Records of other settings that an estimate takes the median of."""
UNKNOWN_RATE = 1e-10
"""Seconds a unit of work where nothing was ever recorded: what published studies took."""
LEAST_SECONDS, LEAST_MEMORY = 0.1, 400 * 2**20
"""Seconds and bytes of any run, beside what its work costs."""
FAR = 100.0
"""Times as much work, at which a rate that was recorded tells about a third (1/e)."""
GUESSES = ("learner", "nothing")


class Estimate(NamedTuple):
    """The forecast cost of a run: processor and wall seconds, peak memory in bytes.

    basis: what it rests on: `same` settings, the same `pipeline` with others, the same `learner`
    in another pipeline, or `nothing`; `published`: see plan.costs. like: the study
    and method of the nearest.
    """

    cpu: float
    wall: float
    memory: int
    basis: str
    like: str

    @property
    def guess(self) -> bool:
        """Return whether no run of these components is known."""
        return self.basis in GUESSES


class Estimator:
    """Estimates from records; `machine` is this one, by the kind of its processor."""

    def __init__(self, known: Iterable[Record], machine: str) -> None:
        known = list(known)
        self._factors = factors(known, machine)
        self._by: dict[str, dict[str, list[Record]]] = {
            "same": _grouped(known, lambda one: one.alike),
            "pipeline": _grouped(known, lambda one: one.pipeline),
            "learner": _grouped(known, lambda one: _learner(one.pipeline)),
        }

    def of(self, spec: Mapping[str, Any]) -> Estimate:
        """Return the estimate of a run or a warm-up."""
        return self._of(
            records.alike(spec), records.pipeline(spec), records.amount(spec), spec["study"]
        )

    def of_record(self, one: Record) -> Estimate:
        """Return the estimate of a run that is known, as if it were not yet done."""
        return self._of(one.alike, one.pipeline, one.work, one.study)

    @cache  # noqa: B019  # an estimator lives as long as its process
    def _of(self, alike: str, pipeline: str, work: float, study: str) -> Estimate:
        keys = {"same": alike, "pipeline": pipeline, "learner": _learner(pipeline)}
        for basis, key in keys.items():
            if there := self._by[basis].get(key):
                near = sorted(there, key=lambda one: (_apart(one.work, work), one.study != study))
                return self._from(near[:NEAR], work, basis)
        seconds = LEAST_SECONDS + UNKNOWN_RATE * work
        return Estimate(seconds, seconds, LEAST_MEMORY, "nothing", "")

    def _from(self, near: list[Record], work: float, basis: str) -> Estimate:
        cpu = median(self._scaled(one, work, basis) for one in near)
        # A machine that did other things, too, made runs wait; more threads make them shorter.
        at_once = median(max(one.cpu, 1e-3) / max(one.wall, 1e-3) for one in near)
        wall = cpu / max(at_once, 1.0)
        memory = max(one.memory for one in near)
        like = "/".join(near[0][:3])
        return Estimate(cpu, wall, memory, basis, like)

    def _scaled(self, one: Record, work: float, basis: str) -> float:
        seconds = one.cpu * self._factors.get(one.machine, 1.0)
        rate = max(seconds - LEAST_SECONDS, 0.0) / max(one.work, 1.0)
        telling = 1.0 if basis == "same" else math.exp(-_apart(one.work, work) / math.log(FAR))
        rate = rate**telling * UNKNOWN_RATE ** (1 - telling)
        return min(seconds, LEAST_SECONDS) + rate * work


def factors(known: Iterable[Record], machine: str) -> dict[str, float]:
    """Return how much longer this machine takes than each other one, by runs that both have done.

    A machine without such runs is not in it. Of `machine`, "PROCESSOR, INSTRUCTIONS", the
    processor counts: instructions are a setting of the run.
    """
    by_run = _grouped(known, lambda one: f"{one.alike} {one.work}")
    ratios: dict[str, list[float]] = defaultdict(list)
    for group in by_run.values():
        here = [one.cpu for one in group if _processor(one) == machine]
        for one in group if here else ():
            if _processor(one) != machine and one.cpu > LEAST_SECONDS:
                ratios[one.machine].append(median(here) / one.cpu)
    return {other: median(found) for other, found in ratios.items()}


def _processor(one: Record) -> str:
    return one.machine.rpartition(", ")[0]


def _apart(one: float, other: float) -> float:
    return abs(math.log(max(one, 1.0) / max(other, 1.0)))


def _learner(pipeline: str) -> str:
    """Return the learner and the model of a pipeline; of a warm-up, that it is one, too."""
    parts = pipeline.split("/")
    return "/".join(parts[-3:] if parts[0] == "warm-up" else parts[-2:])


def _grouped(known: Iterable[Record], key: Callable[[Record], str]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for one in known:
        found[key(one)].append(one)
    return dict(found)
