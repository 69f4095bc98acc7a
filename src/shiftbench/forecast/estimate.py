"""Estimates of what a run would cost, from the costs of the nearest earlier runs.

The nearest runs are those with the same settings; then those with the same components and model, by
the distance of their work; then those with the same learner. The cost is proportional to the work
(cost_model.py). Its rate is that of the nearest runs if their work is similar. The more the work
differs, the closer the rate is to that of all published studies.
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
"""The number of nearest records whose median is the estimate."""
UNKNOWN_RATE = 1e-10
"""Seconds per unit of work in published studies, used where there are no records."""
LEAST_SECONDS, LEAST_MEMORY = 0.1, 400 * 2**20
"""Seconds and bytes that every run takes, whatever its work."""
FAR = 100.0
"""The ratio of works at which a recorded rate has the weight 1/e, about a third."""
GUESSES = ("learner", "nothing")


class Estimate(NamedTuple):
    """The forecast cost of a run: processor and wall seconds, peak memory in bytes.

    basis: the records that it rests on: runs with the `same` settings, with the same `pipeline` and
    other settings, with the same `learner` in another pipeline, or `nothing`; for `published` see
    plan.costs. like: study, stream and method of the nearest record.
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
    """Estimates costs from records; `machine` is the kind of this machine's processor."""

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
        """Return the estimate of a recorded run from all records, as if it were not done yet."""
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
        # CPU time over wall time: below 1 on a busy machine, above 1 with several threads.
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
    """Return the factors by which this machine is slower than others, from runs done on both.

    Machines without such runs are left out. Keys are "PROCESSOR, INSTRUCTIONS"; `machine` is the
    processor alone, because the instructions are a setting of the run.
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
    """Return the learner and the model of a pipeline, after `warm-up` if it is one."""
    parts = pipeline.split("/")
    return "/".join(parts[-3:] if parts[0] == "warm-up" else parts[-2:])


def _grouped(known: Iterable[Record], key: Callable[[Record], str]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for one in known:
        found[key(one)].append(one)
    return dict(found)
