"""The plan of a config: which jobs would run, why, and what each of them would cost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from shiftbench.config import config_file as configs
from shiftbench.config import jobs, method_labels, result_paths
from shiftbench.config.job import Job
from shiftbench.config.library import Library, root
from shiftbench.config.result_paths import PUBLISHED, RESULTS
from shiftbench.config.schema import Config
from shiftbench.config.yaml_lines import Document, read
from shiftbench.core import instructions
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown
from shiftbench.evaluation.running.stop_signals import SHARE_OF_TIME_LIMIT
from shiftbench.forecast import lost_files, reasons, records
from shiftbench.forecast.estimate import Estimate, Estimator
from shiftbench.forecast.lost_files import Lost
from shiftbench.forecast.reasons import Reason

LEARNING = ("run_method", "warm_up")
LIGHT = Estimate(2.0, 2.0, 300 * 2**20, "light", "")
"""Cost of a job without training: mostly the start of its process."""


class Planned(NamedTuple):
    """A job that would run, with the reasons and the forecast cost."""

    job: Job
    reasons: list[Reason]
    cost: Estimate

    @property
    def attempts(self) -> int:
        """Return the number of starts that the job needs: at its time limit it saves and stops."""
        limit = SHARE_OF_TIME_LIMIT * 60 * self.job.resources.minutes
        return max(1, math.ceil(self.cost.wall / limit))

    @property
    def over_limit(self) -> bool:
        """Return whether it would stop at its time limit."""
        return self.attempts > 1


class Plan(NamedTuple):
    """The jobs that a config would run. jobs: number of all; lost: files to be made again."""

    config: Path
    jobs: int
    planned: list[Planned]
    lost: Lost

    def studies(self) -> dict[str, list[Planned]]:
        """Return the jobs of each study that has some to run, in the config's order."""
        found: dict[str, list[Planned]] = {}
        for one in self.planned:
            if one.job.study:
                found.setdefault(one.job.study, []).append(one)
        return found


def make(path: Path, deep: bool = False) -> Plan:
    """Return the plan of a config file whose results lie in results/NAME.

    deep: read all files to find damaged ones, whatever their size and time.
    """
    results = result_paths.of_config(path.stem)
    config = configs.load(path)
    every = jobs.of_config(config, results, path.stem)
    lost = lost_files.find(every, results, deep)
    why = reasons.of_jobs(every, results, set(lost.all))
    cost = costs(every, estimator(), path.stem)
    planned = [(job, why[job.outputs[0]]) for job in every if job.outputs[0] in why]
    those = [Planned(job, reason, cost[job.outputs[0]]) for job, reason in planned]
    return Plan(path, len(every), those, lost)


def whole(config: Config, known: Estimator, name: str = "") -> dict[str, float]:
    """Return the processor seconds of each study, as if none of its runs had been done."""
    every = jobs.of_config(config, RESULTS / "none", name)
    cost = costs(every, known, name)
    found = dict.fromkeys(config.studies, 0.0)
    for job in every:
        if job.rule in LEARNING:
            found[job.study] += cost[job.outputs[0]].cpu
    return found


def costs(every: list[Job], known: Estimator, name: str) -> dict[str, Estimate]:
    """Return the forecast cost of each job of a config, by its first output.

    If all estimates of a study are guesses and the study is published under the name of this
    config, the estimates are scaled so that their sum is the published cost.
    """
    found = {job.outputs[0]: cost(job, known) for job in every}
    for study in {job.study for job in every if job.rule in LEARNING}:
        those = [job for job in every if job.study == study and job.rule in LEARNING]
        runs = sum(job.rule == "run_method" for job in those)
        total = published(name, study, runs)
        if total and all(found[job.outputs[0]].guess for job in those):
            factor = total / sum(found[job.outputs[0]].cpu for job in those)
            found |= {job.outputs[0]: _shared(found[job.outputs[0]], factor) for job in those}
    return found


def _shared(guess: Estimate, factor: float) -> Estimate:
    """Scale a guess by a factor that all guesses of its study share."""
    cpu, wall = guess.cpu * factor, guess.wall * factor
    return guess._replace(cpu=cpu, wall=wall, basis="published", like="")


def published(name: str, study: str, runs: int) -> float:
    """Return the processor seconds of a study, if it was published with as many runs; else 0."""
    origin = result_paths.provenance(result_paths.study(result_paths.published(name), study))
    return 3600 * origin.get("core_hours", 0.0) if origin.get("runs") == runs else 0.0


def estimator() -> Estimator:
    """Return an estimator from all results that lie here, and from published ones."""
    folders = [*RESULTS.glob("[!.]*"), *RESULTS.glob(f"{PUBLISHED}/*")]
    known = records.collect(path for path in sorted(folders) if path.is_dir())
    return Estimator(known, instructions.processor())


def cost(job: Job, known: Estimator) -> Estimate:
    """Return the forecast cost of a job."""
    return known.of(job.spec) if job.rule in LEARNING else LIGHT


def core_seconds(planned: Iterable[Planned]) -> float:
    """Return the processor seconds of some jobs."""
    return sum(one.cost.cpu for one in planned)


def gpu_seconds(planned: Iterable[Planned]) -> float:
    """Return for how many seconds jobs hold a GPU."""
    return sum(one.cost.wall for one in planned if one.job.gpus)


def wall_seconds(planned: Iterable[Planned], cores: int) -> float:
    """Return the wall seconds of jobs on a machine."""
    return makespan(((one.cost.wall, one.job.resources.threads) for one in planned), cores)


def makespan(jobs: Iterable[tuple[float, int]], cores: int) -> float:
    """Return the seconds until all jobs are done, each given as (seconds, cores that it takes).

    The longest job starts first.
    """
    free = [0.0] * cores
    for seconds, threads in sorted(jobs, key=lambda job: -job[0]):
        taken = [heapq.heappop(free) for _ in range(min(threads, cores))]
        for _ in taken:
            heapq.heappush(free, max(taken) + seconds)
    return max(free)


def of_method(plan: Plan, wanted: str) -> list[Planned]:
    """Return the jobs of STUDY/METHOD or STUDY that would run; UserError for an unknown name."""
    study, _, method = wanted.partition("/")
    config = configs.load(plan.config)
    refuse_unknown("study", study, config.studies)
    if method:
        of_study = config.studies[study]
        method_labels.refuse_unknown(method, {one: of_study.label(one) for one in of_study.methods})
    found = [one for one in plan.planned if one.job.study == study]
    return [one for one in found if not method or one.job.method == method]


def at_budget(path: Path, budget: str, known: Estimator) -> Iterator[tuple[str, float, float]]:
    """Yield each study of a config with its processor seconds, and those at another budget.

    Studies without that budget are left out. UserError where none has it.
    """
    here = whole(configs.load(path), known, path.stem)
    library = Library(path.parent)
    there: dict[str, float] = {}
    for name, source in _sources(path):
        file = library.study(source)
        budgets = file.get("budgets") if file else None
        if budgets is not None and budgets.get(budget) is not None:
            asked = {"budget": budget, "studies": {name: {"from": source}}}
            made = configs.checked(Document(path, asked, None, []), str(path))
            there |= whole(configs.planned(made), known)
    if not there:
        raise UserError(f"{path}: none of its studies has the budget {budget}")
    yield from ((name, here[name], there[name]) for name in here if name in there)


def _sources(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the studies of a config by name, each with the name of its source in the library."""
    studies = root(read(path)).get("studies")
    for name, study in studies.named() if studies else ():
        source = study.get("from")
        yield name, str(source.data) if source else name
