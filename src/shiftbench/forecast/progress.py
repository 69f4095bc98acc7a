"""Progress of a running workflow: jobs done of all, studies done, and the time left.

The time left is the forecast of the jobs that are not done, times how much longer than forecast
the last jobs took.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from shiftbench.config.job import Job
from shiftbench.config.jobs import FIRST
from shiftbench.config.tuning import TRIALS
from shiftbench.forecast.estimate import Estimator
from shiftbench.forecast.plan import cost, makespan

TRUST_SECONDS = 20.0
"""Weight of the forecast: that of measured jobs which took this many seconds in all."""
HALF_LIFE = 0.1
"""Share of all forecast time after which a measured time has half its weight, because the load of a
machine changes."""


class Expected(NamedTuple):
    """Forecast of a job, made before it runs.

    study: "" where several studies share the job. seconds: forecast wall time.
    """

    study: str
    seconds: float
    threads: int


class Progress:
    """Counts jobs that start and end. expected: the forecasts by Snakemake's job number."""

    def __init__(
        self,
        expected: Mapping[int, Expected],
        cores: int,
        results: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = len(expected)
        self.done = 0
        self.results = results
        """The first figure or table of each study, to be looked at once the study is done."""
        self._open = dict(expected)
        self._cores = cores
        self._clock = clock
        self._started: dict[int, float] = {}
        self._of_study = Counter(job.study for job in expected.values())
        self._forecast = self._measured = TRUST_SECONDS
        self._half_life = max(HALF_LIFE * sum(job.seconds for job in expected.values()), 1.0)

    def start(self, job: int) -> None:
        """Note that a job runs."""
        self._started[job] = self._clock()

    def finish(self, job: int) -> str | None:
        """Count a job as done; return the study that it completes, if it does."""
        if job not in self._open:
            return None
        study, seconds, _ = self._open.pop(job)
        self.done += 1
        kept = 0.5 ** (seconds / self._half_life)
        self._forecast = self._forecast * kept + seconds
        self._measured = self._measured * kept + self._since_start(job)
        self._of_study[study] -= 1
        return study if study and not self._of_study[study] else None

    def seconds_left(self) -> float:
        """Return the wall seconds until all jobs are done."""
        slower = self._measured / self._forecast
        rest = (
            (max(job.seconds * slower - self._since_start(number), 0.0), job.threads)
            for number, job in list(self._open.items())  # jobs end while another thread asks
        )
        return makespan(rest, self._cores)

    def _since_start(self, job: int) -> float:
        now = self._clock()
        return now - self._started.get(job, now)


def of_jobs(
    to_do: Mapping[int, Job], studies: Container[str], known: Estimator
) -> dict[int, Expected]:
    """Return the forecast of each job, by Snakemake's number; trials count with their study."""
    found = {}
    for number, job in to_do.items():
        tuned = job.study.removesuffix(TRIALS)
        study = tuned if tuned in studies else job.study
        found[number] = Expected(study, cost(job, known).wall, job.resources.threads)
    return found


def first_results(every: Iterable[Job]) -> dict[str, str]:
    """Return the path of the first figure of each study, or of its first table."""
    return {job.study: job.outputs[-1] for job in every if FIRST in job.options}
