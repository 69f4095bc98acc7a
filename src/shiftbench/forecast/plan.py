"""The plan of a config: which jobs would run, why, and what each of them would cost."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from shiftbench import _instructions
from shiftbench.errors import UserError
from shiftbench.forecast import jobs, reasons, records
from shiftbench.forecast.estimate import Estimate, Estimator
from shiftbench.forecast.jobs import Job
from shiftbench.forecast.reasons import Reason
from shiftbench.names import refuse_unknown
from shiftbench.planning import config as configs
from shiftbench.planning.library import Library
from shiftbench.planning.schema import Config
from shiftbench.planning.yaml_lines import Document, read
from shiftbench.running.stops import SHARE_OF_TIME_LIMIT

RESULTS = Path("results")
LEARNING = ("run_learner", "warm_up")
LIGHT = Estimate(2.0, 2.0, 300 * 2**20, "light", "")
"""Of a job that learns nothing: mostly the start of its process."""


class Planned(NamedTuple):
    """A job that would run, with why, and what it would cost."""

    job: Job
    reasons: list[Reason]
    cost: Estimate

    @property
    def over_limit(self) -> bool:
        """Whether it would stop at its time limit, and go on in another attempt."""
        return self.cost.wall > SHARE_OF_TIME_LIMIT * 60 * self.job.resources.minutes


class Plan(NamedTuple):
    """What a config would run. jobs: of how many; broken: files that were changed by others."""

    config: Path
    jobs: int
    planned: list[Planned]
    broken: list[str]

    def studies(self) -> dict[str, list[Planned]]:
        """What would run of each study that has something to run, in the config's order."""
        found: dict[str, list[Planned]] = {}
        for one in self.planned:
            if one.job.study:
                found.setdefault(one.job.study, []).append(one)
        return found


def make(path: Path, known: Estimator | None = None) -> Plan:
    """The plan of a config file whose results lie in results/NAME."""
    results = RESULTS / path.stem
    config = configs.load(path)
    every = jobs.of_config(config, results, path.stem)
    why = reasons.of_jobs(every, results)
    known = known or estimator()
    return Plan(
        path,
        len(every),
        [Planned(job, why[job.outputs[0]], cost(job, known))
         for job in every if job.outputs[0] in why],
        reasons.broken(every),
    )  # fmt: skip


def whole(config: Config, known: Estimator) -> dict[str, float]:
    """Processor seconds of all runs and warm-ups of each study, as if none had been done."""
    found = dict.fromkeys(config.studies, 0.0)
    for job in jobs.of_config(config, RESULTS / "none", "none"):
        if job.rule in LEARNING:
            found[job.study] += cost(job, known).cpu
    return found


def estimator() -> Estimator:
    """Estimates from all results that lie here, and from those that are published."""
    folders = [*RESULTS.glob("[!.]*"), *RESULTS.glob("published/*")]
    known = records.collect(path for path in sorted(folders) if path.is_dir())
    return Estimator(known, _instructions.processor())


def cost(job: Job, known: Estimator) -> Estimate:
    """What a job would cost."""
    return known.of(job.spec) if job.rule in LEARNING else LIGHT


def core_seconds(planned: Iterable[Planned]) -> float:
    """Processor seconds of some jobs."""
    return sum(one.cost.cpu for one in planned)


def wall_seconds(planned: Iterable[Planned], cores: int) -> float:
    """How long jobs take on a machine: the longest first, each on the cores that it asks for."""
    free = [0.0] * cores
    for one in sorted(planned, key=lambda each: -each.cost.wall):
        taken = [heapq.heappop(free) for _ in range(min(one.job.resources.threads, cores))]
        for _ in taken:
            heapq.heappush(free, max(taken) + one.cost.wall)
    return max(free)


def of_method(plan: Plan, wanted: str) -> list[Planned]:
    """What would run of STUDY/METHOD, or of STUDY. UserError where there is no such."""
    study, _, method = wanted.partition("/")
    config = configs.load(plan.config)
    refuse_unknown("study", study, config.studies)
    if method:
        refuse_unknown("method", method, config.studies[study].methods)
    found = [one for one in plan.planned if one.job.study == study]
    return [one for one in found if not method or one.job.method == method]


def at_budget(path: Path, budget: str, known: Estimator) -> Iterator[tuple[str, float, float]]:
    """Each study of a config, with its processor seconds, and those at another budget.

    Studies without that budget are left out. UserError where none has it.
    """
    here = whole(configs.load(path), known)
    library = Library(path.parent)
    there: dict[str, float] = {}
    for name, source in _sources(path):
        file = library.study(source)
        budgets = file.get("budgets") if file else None
        if budgets is not None and budgets.get(budget) is not None:
            asked = {"budget": budget, "studies": {name: {"from": source}}}
            made = configs.whole(Document(path, asked, None, []), str(path))
            there |= whole(configs.planned(made), known)
    if not there:
        raise UserError(f"{path}: none of its studies has the budget {budget}")
    yield from ((name, here[name], there[name]) for name in here if name in there)


def _sources(path: Path) -> Iterator[tuple[str, str]]:
    """The studies that a config takes from the library, by their names there."""
    for entry in read(path).data.get("studies", ()):
        if isinstance(entry, str):
            yield entry, entry
        elif isinstance(entry, dict):
            for name, changes in entry.items():
                yield name, (changes or {}).get("from", name)
