"""Forecast of what the papers' budgets would cost, and what cheaper fits change."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pandas as pd

from shiftbench.config import config_file, jobs, specs
from shiftbench.config.result_paths import RESULTS
from shiftbench.core import checkout
from shiftbench.evaluation.scoring import units
from shiftbench.evaluation.scoring.statistics import Interval
from shiftbench.forecast import plan, records, render
from shiftbench.forecast.estimate import Estimator
from shiftbench.forecast.plan import LEARNING, Planned
from shiftbench.publish.derived.evidence import PublishedResults

PAPER = "paper"
FITS = ("transformed-images", "transformed-images-cheaper")
"""Studies whose runs are compared: the protocol of li2021vbs, and the same with cheaper fits."""
CHEAPER, BASELINE = "cheaper-fits", "paper"
"""Study of fits that leave something out, and its method that leaves out nothing."""
CORES = 512
HEAD = ["study", "runs", "core-hours", "longest run", "time limit", "attempts", "guesses"]


def of_studies(published: PublishedResults) -> tuple[list[list[str]], str]:
    """Return a line for each study of the config `paper`, and a sentence about their sum.

    The lines have the columns `HEAD`. A run that needs several attempts stops at its time limit.
    """
    runs = _runs(published)
    lines = [
        _line(study, [one for one in runs if one.job.study == study])
        for study in dict.fromkeys(one.job.study for one in runs)
    ]
    total = render.hours(plan.core_seconds(runs))
    days = plan.wall_seconds(runs, CORES) / 86400
    return lines, f"In all {total} core-hours, or about {days:,.0f} days on {CORES} cores."


def of_fits(published: PublishedResults) -> list[list[str]]:
    """Return the core-hours of a run in both studies of `FITS`, a line for each method."""
    hours: dict[str, dict[str, float]] = {study: {} for study in FITS}
    for one in _runs(published):
        if one.job.study in hours and one.job.method:
            hours[one.job.study].setdefault(one.job.method, one.cost.cpu)
    before, after = hours.values()
    dearest = sorted(before, key=lambda method: -before[method])
    return [
        [f"`{method}`", render.hours(before[method]), render.hours(after[method])]
        for method in dearest
        if method in after
    ]


def of_cheaper_fits(published: PublishedResults) -> list[list[str]]:
    """Return for each fit of the study `CHEAPER`, without beams, what it costs and what it loses.

    The median seconds of a run, and the differences of ELBO and accuracy to the baseline.
    """
    study = f"cpu/{CHEAPER}"
    spec = specs.artefact(config_file.load(checkout.CONFIGS / "cpu.yaml"), CHEAPER, "score-table")
    costs = pd.read_csv(published.study_folder(study) / records.TABLE)
    costs = costs[~costs["pipeline"].str.startswith("beam/")]
    seconds = costs.groupby("method", sort=False)["cpu"].median()
    elbo, accuracy = (
        published.against(study, metric, "*", BASELINE) for metric in ("elbo", "accuracy")
    )
    lines = []
    for (stream, method), lead in elbo.items():
        if method in seconds:
            nats, points = lead.difference, accuracy[stream, method].difference
            lines.append([
                spec["labels"][method],
                f"{seconds[method]:.0f} s",
                _difference(nats, "{:+z,.0f}".format),
                _difference(points, partial(units.text, "accuracy", sign="+")),
            ])  # fmt: skip
    first = [spec["labels"][BASELINE], f"{seconds[BASELINE]:.0f} s", "-", "-"]
    return [first, *sorted(lines, key=lambda line: line[0])]


def _difference(found: Interval, shown: Callable[[float], str]) -> str:
    return units.interval(found.mean, found.low, found.high, shown)


@cache
def _runs(published: PublishedResults) -> list[Planned]:
    """Return the runs and warm-ups of the config `paper` with their forecast costs."""
    config = config_file.load(checkout.CONFIGS / f"{PAPER}.yaml")
    known = records.collect(sorted(published.folder.glob("*/")))
    every = jobs.of_config(config, RESULTS / "none", PAPER)
    # No machine is named, because the page must not depend on the machine that derives it.
    cost = plan.costs(every, Estimator(known, machine=""), PAPER)
    return [Planned(job, [], cost[job.outputs[0]]) for job in every if job.rule in LEARNING]


def _line(study: str, runs: list[Planned]) -> list[str]:
    longest = max(runs, key=lambda one: one.cost.wall)
    attempts = max(one.attempts for one in runs)
    guesses = sum(one.cost.guess for one in runs)
    return [
        f"`{study}`",
        f"{len(runs):,}",
        render.hours(plan.core_seconds(runs)),
        render.span(longest.cost.wall),
        render.span(60 * longest.job.resources.minutes),
        f"{attempts:,}",
        f"{guesses:,}",
    ]
