"""The verb `verify`: results are compared with others, or a crate with what it gives here."""

from __future__ import annotations

import argparse
import os
import random
from contextlib import ExitStack
from typing import TYPE_CHECKING

from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable

if TYPE_CHECKING:
    from shiftbench.publish.crate_files import Limits
    from shiftbench.publish.crate_plan import PlannedCrate
    from shiftbench.publish.recompute import Again, Candidate

VERIFIED = {"identical": 0, "rounding": 3, "interval": 4, "different": 5}
"""Exit statuses of `verify` by verdict."""
UNVERIFIED = 6
"""Exit status for a crate of which no run was computed again."""


def verify(options: argparse.Namespace) -> int:
    """Compare results with the published ones, or verify a crate; 0 if identical, else 2 to 6.

    2: refused, with the reason; 3: equal up to rounding; 4: within the interval over seeds; 5:
    different; 6: no run of the crate was computed again. For a crate, all files are compared with
    their checksums and with its config, and some runs with what they give when computed again.
    """
    from shiftbench.publish import crate_metadata, verify

    no_reference = options.reference is None and options.revision is None
    if no_reference and os.path.lexists(options.results / crate_metadata.NAME):
        return _verify_crate(options)
    reference = options.reference or options.results.parent / "published" / options.results.name
    with ExitStack() as opened:
        if options.revision:
            reference = opened.enter_context(verify.at_revision(reference, options.revision))
        findings = verify.compare(options.results, reference)
        lines = verify.lines(findings, options.results, reference)
    print(*lines, sep="\n")
    if options.table:
        print("", verify.table(findings) or "Nothing differs.", sep="\n")
    return VERIFIED[verify.worst(findings)]


def seed_of(options: argparse.Namespace) -> int:
    """Return the seed of a draw of runs; without one, a new one that nobody can foresee."""
    return random.SystemRandom().randrange(2**32) if options.seed is None else options.seed


def limits_of(factor: float) -> Limits:
    """Return the limits on a crate, times a factor. UserError unless that is 1 or more."""
    from shiftbench.publish import crate_files

    if not 1 <= factor <= MOST:
        raise UserError(f"--limit {factor:g}: write a factor from 1 to {MOST:,}")
    return crate_files.DEFAULT.raised(factor)


MOST = 10_000


def _verify_crate(options: argparse.Namespace) -> int:
    from shiftbench.forecast import plan
    from shiftbench.publish import (
        crate,
        crate_files,
        crate_plan,
        recompute,
        recompute_scores,
        verify,
    )

    folder, limits, seed = options.results, limits_of(options.limit), seed_of(options)
    if changed := crate.changed(folder, limits):
        say(*(f"{name}: changed after the crate was made" for name in changed))
        return VERIFIED["different"]
    say(f"checksums: all {len(crate_files.listed(folder, limits)):,} files match")
    planned = crate_plan.read(folder, options.trust, limits)
    say(f"config: its {len(planned.plan.studies)} studies are complete")
    found = recompute.candidates(planned, plan.estimator())
    drawn = recompute.draw(found, options.sample, seed, limits.seconds)
    studies = recompute_scores.with_scores(planned)
    verdicts = [_report(stream) for stream in recompute.streams_again(planned)]
    if "different" in verdicts:
        say("A stream is not what its settings give, so no run is recomputed.")
        return VERIFIED["different"]
    for study in studies:
        verdicts.append(_report(recompute_scores.scores_again(planned, study)))
    for one in drawn:
        verdicts.append(_report(recompute.again(planned, one)))
    say(f"scores: computed again from the runs of {len(studies)} studies")
    say(f"runs: {len(drawn)} computed again, of {len(found):,}; drawn with --seed {seed}")
    _say_what_was_left(planned, studies, found, drawn, options.sample)
    worst = max(verdicts, key=verify.VERDICTS.index, default="identical")
    if worst == "identical" and not drawn:
        say("Nothing was computed again, so this crate is not verified.")
        return UNVERIFIED
    return VERIFIED[worst]


def _report(result: Again) -> str:
    say(f"{result.name}: {result.verdict or 'not made again'}, {result.note}")
    return result.verdict or "identical"


def _say_what_was_left(
    crate: PlannedCrate,
    scored: list[str],
    found: list[Candidate],
    drawn: list[Candidate],
    number: int,
) -> None:
    """Say of which studies no scores and no run were computed again, and why."""
    for study in crate.plan.studies:
        runs = [one for one in found if one.run.study == study]
        if study not in scored:
            why = "some of its streams are not in the crate" if runs else "the crate has no runs"
            say(f"{study}: scores not computed again, because {why}")
        if runs and not any(one.run.study == study for one in drawn):
            reasons = dict.fromkeys(one.obstacle for one in runs if one.obstacle)
            shortest = min(one.seconds for one in runs)
            long = f"the shortest would take about {shortest:,.0f} s; see --limit"
            why = "; ".join(reasons) or ("--sample is 0" if number < 1 else long)
            say(f"{study}: none of its {len(runs):,} runs computed again: {why}")


def say(*lines: str) -> None:
    """Print lines with text from a crate, which could do anything to a terminal."""
    print(*map(printable, lines), sep="\n", flush=True)
