"""A plan in words for people, and as JSON for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from shiftbench.forecast.plan import (
    LEARNING,
    Plan,
    Planned,
    core_seconds,
    gpu_seconds,
    wall_seconds,
)
from shiftbench.forecast.reasons import AGAIN, KINDS, Reason

SHOWN = 8
"""The most reasons of one kind that the short form lists."""
BASES = {
    "same": "runs of the same settings",
    "pipeline": "runs of the same components with other settings",
    "learner": "a guess, from runs of the same learner in other pipelines",
    "published": "the published cost of the study, divided among its runs by their work",
    "nothing": "a guess, since no run of the learner with this model is known",
    "light": "a start of a process",
}


def lines(plan: Plan, cores: int) -> Iterator[str]:
    """Yield the plan in short: reasons, cost of each study, warnings and the total."""
    runs = [one for one in plan.planned if one.job.rule in LEARNING]
    yield f"{plan.config}: {len(plan.planned):,} of {plan.jobs:,} jobs would run, {len(runs):,} of them runs or warm-ups"  # noqa: E501
    if not plan.planned:
        return
    yield ""
    yield from _why(plan.planned)
    yield ""
    yield from _studies(plan)
    yield ""
    yield from _worth_a_look(plan)
    total = core_seconds(plan.planned)
    yield (
        f"In all {hours(total)} core-hours, {hours(core_seconds(runs))} of runs and warm-ups;"
        f"{_of_gpus(runs)}"
        f" about {span(wall_seconds(plan.planned, cores))} on {cores} cores."
    )


def in_full(planned: Iterable[Planned]) -> Iterator[str]:
    """Yield each job with all its reasons, its cost and the basis of this estimate."""
    for job, why, cost in planned:
        yield job.name
        for reason in why:
            known = reason.words == KINDS[reason.kind]
            yield f"  {reason.words if known else f'{KINDS[reason.kind]}: {reason.words}'}"
        like = f", as of {cost.like}" if cost.like else ""
        yield (
            f"  costs {span(cost.cpu)} of a processor, {cost.memory / 2**20:,.0f} MB"
            f" ({BASES[cost.basis]}{like})"
        )


def as_data(plan: Plan, cores: int) -> dict[str, Any]:
    """Return the plan as JSON has it."""
    return {
        "config": str(plan.config),
        "jobs_in_all": plan.jobs,
        "core_hours": core_seconds(plan.planned) / 3600,
        "gpu_hours": gpu_seconds(plan.planned) / 3600,
        "wall_hours": wall_seconds(plan.planned, cores) / 3600,
        "cores": cores,
        "damaged": plan.lost.damaged,
        "jobs": [
            {
                "rule": job.rule,
                "name": job.name,
                "study": job.study,
                "method": job.method,
                "output": job.outputs[0],
                "reasons": [reason._asdict() for reason in why],
                "core_seconds": cost.cpu,
                "wall_seconds": cost.wall,
                "memory_mb": cost.memory / 2**20,
                "basis": cost.basis,
                "like": cost.like,
                "guess": cost.guess,
                "over_limit": over,
                **job.resources._asdict(),
            }
            for job, why, cost, over in ((*one, one.over_limit) for one in plan.planned)
        ],
    }


def budgets(compared: Iterable[tuple[str, float, float]], name: str) -> Iterator[str]:
    """Yield a table of what all runs of studies would cost, as they are and at another budget."""
    rows = [(study, hours(here), hours(there)) for study, here, there in compared]
    yield from table([("study", "core-hours", f"at {name}"), *rows])


def hours(seconds: float) -> str:
    """Return hours with two significant digits, or with all digits of a whole number."""
    value = seconds / 3600
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def span(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Rows with a heading, names to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *others]).rstrip()


def _why(planned: list[Planned]) -> Iterator[str]:
    """Count the jobs for each reason; those that only follow share a line."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in planned:
        for reason in one.reasons:
            counts[reason.kind][_group(reason, one)] += 1
    for kind, found in counts.items():
        yield f"{KINDS[kind]}: {_jobs(sum(found.values()))}"
        listed = found.most_common(SHOWN) if kind != AGAIN else []
        for words, number in listed:
            yield f"  {words}: {_jobs(number)}"
        if kind != AGAIN and len(found) > SHOWN:
            yield f"  and {len(found) - SHOWN} more; --why STUDY lists all of a study"


def _group(reason: Reason, one: Planned) -> str:
    """Return the key by which reasons are grouped: the study of new jobs, else the phrase."""
    if reason.kind in ("new", "missing"):
        return one.job.study or one.job.rule.replace("_", " ")
    return reason.words


def _studies(plan: Plan) -> Iterator[str]:
    rows = [("study", "jobs", "core-hours", "longest job", "limit", "guesses")]
    for study, those in plan.studies().items():
        longest = max(those, key=lambda one: one.cost.wall)
        guesses = sum(one.cost.guess for one in those)
        rows.append((
            study,
            f"{len(those):,}",
            hours(core_seconds(those)),
            span(longest.cost.wall),
            span(60 * longest.job.resources.minutes),
            f"{guesses:,}" if guesses else "",
        ))  # fmt: skip
    others = [one for one in plan.planned if not one.job.study]
    if others:
        rows.append(
            ("streams, raw files, overview", f"{len(others):,}", hours(core_seconds(others)),
             span(max(one.cost.wall for one in others)), "", "")
        )  # fmt: skip
    yield from table(rows)


def _worth_a_look(plan: Plan) -> Iterator[str]:
    if plan.lost.all:
        yield plan.lost.words("`run` computes {it} again")
    for study, those in plan.studies().items():
        if over := [one for one in those if one.over_limit]:
            methods = ", ".join(dict.fromkeys(one.job.method or "warm-ups" for one in over))
            yield (
                f"{study}: {_jobs(len(over))} of {methods} would stop at the time limit and go on,"
                f" in up to {max(one.attempts for one in over):,} attempts"
            )
    guesses = sum(one.cost.guess for one in plan.planned)
    if guesses:
        yield f"{_jobs(guesses)}: costs are guesses, because no run of the same components is known"


def _of_gpus(runs: list[Planned]) -> str:
    """Return the hours of GPUs, if a run asks for one."""
    seconds = gpu_seconds(runs)
    return f" {hours(seconds)} GPU-hours;" if seconds else ""


def _jobs(number: int) -> str:
    return f"{number:,} job{'s' * (number > 1)}"
