"""The verb `verify`: results are compared with others, or with what computing them again gives."""

from __future__ import annotations

import argparse
import os
import random
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.cli import user
from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.core.suggestions import refuse_unknown

if TYPE_CHECKING:
    from shiftbench.publish.crate_files import Limits
    from shiftbench.publish.crate_plan import CratedRun, PlannedCrate
    from shiftbench.publish.recompute import Again, Candidate, Sample
    from shiftbench.publish.recompute_published import PublishedResults, PublishedRun

VERIFIED = {"identical": 0, "rounding": 3, "interval": 4, "different": 5}
"""Exit statuses of `verify` by verdict."""
UNVERIFIED = 6
"""Exit status where no run was computed again."""


def verify(options: argparse.Namespace) -> int:
    """Compare results with published ones, or some runs with those computed again; 0 if identical.

    2: refused, with the reason; 3: equal up to rounding; 4: within the interval over seeds; 5:
    different; 6: no run was computed again. For a crate, all files are compared with their
    checksums and with its config, and some runs with what they give when computed again. For a
    folder of published results, some runs are computed by the code here, and their scores compared.
    """
    from shiftbench.publish import crate_metadata, study_copy, verify

    no_reference = options.reference is None and options.revision is None
    if no_reference and os.path.lexists(options.results / crate_metadata.NAME):
        return _verify_crate(options)
    if no_reference and study_copy.is_published(options.results):
        return _verify_published(options)
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


def sample(text: str) -> Sample:
    """Return how many runs to draw: a number, or a share that ends with %."""
    from shiftbench.publish.recompute import Sample

    try:
        drawn = Sample(1, float(text[:-1]) / 100) if text.endswith("%") else Sample(int(text))
    except ValueError:
        drawn = Sample(-1)
    if drawn.number < 0 or not 0 <= drawn.share <= 1:
        raise argparse.ArgumentTypeError(f"{text}: write a number of runs, or a share as 10%")
    return drawn


def _verify_published(options: argparse.Namespace) -> int:
    """Compute some runs of published results again, study by study, the cheapest study first."""
    from shiftbench.config import config_file
    from shiftbench.forecast import plan
    from shiftbench.publish import recompute, recompute_published, verify
    from shiftbench.publish.recompute_published import PublishedResults

    results, draw = options.results, recompute_published.draw_of(seed_of(options))
    published = PublishedResults(results, config_file.load(user.config_of(options)))
    found = _of_studies(published.candidates(plan.estimator()), options.study, results)
    drawn = recompute.draw(found, options.sample, draw.seed, limits_of(options.limit).seconds)
    say(f"{len(drawn)} of {len(found):,} runs are computed again, drawn with --seed {draw.seed}")
    verdicts = []
    for study, runs in _cheapest_first(drawn).items():
        again = [one for run in runs if (one := _again(published, run))]
        verdicts += [_report(one) for one in again]
        if options.record and again:
            planned = sum(one.run.study == study for one in found)
            recompute_published.record(results, study, again, planned, draw)
    if not verdicts:
        say("Nothing was computed again, so nothing is verified.")
        return UNVERIFIED
    return VERIFIED[max(verdicts, key=verify.VERDICTS.index)]


def _of_studies(
    found: list[Candidate[PublishedRun]], studies: list[str] | None, results: Path
) -> list[Candidate[PublishedRun]]:
    """Return the runs of the studies that are asked for, if any are. UserError for others."""
    from shiftbench.publish import result_files

    names = sorted({one.run.study for one in found})
    for name in studies or ():
        refuse_unknown(f"study of {results}", name, names)
    chosen = [one for one in found if studies is None or one.run.study in studies]
    for study in dict.fromkeys(one.run.study for one in chosen):
        if broken := result_files.changed(results, study):
            raise UserError(
                f"{', '.join(map(str, broken))}: changed after it was published; publish it again"
            )
    return chosen


def _cheapest_first(
    drawn: list[Candidate[PublishedRun]],
) -> dict[str, list[Candidate[PublishedRun]]]:
    by_study: dict[str, list[Candidate[PublishedRun]]] = {}
    for one in drawn:
        by_study.setdefault(one.run.study, []).append(one)
    return dict(sorted(by_study.items(), key=lambda item: sum(one.seconds for one in item[1])))


def _again(published: PublishedResults, one: Candidate[PublishedRun]) -> Again | None:
    """Compute a run again; None, with the reason said, where its data cannot be had."""
    try:
        return published.again(one.run)
    except UserError as error:
        say(f"{one.run.name}: not computed again: {error}")
        return None


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
    found: list[Candidate[CratedRun]],
    drawn: list[Candidate[CratedRun]],
    asked: Sample,
) -> None:
    """Say of which studies no scores and no run were computed again, and why."""
    from shiftbench.publish import recompute

    for study in crate.plan.studies:
        runs = [one for one in found if one.run.study == study]
        if study not in scored:
            why = "some of its streams are not in the crate" if runs else "the crate has no runs"
            say(f"{study}: scores not computed again, because {why}")
        if runs and not any(one.run.study == study for one in drawn):
            reasons = dict.fromkeys(one.obstacle for one in runs if one.obstacle)
            shortest = min(one.seconds for one in runs)
            long = f"the shortest would take about {shortest:,.0f} s; see --limit"
            why = "; ".join(reasons) or ("--sample is 0" if asked == recompute.NOTHING else long)
            say(f"{study}: none of its {len(runs):,} runs computed again: {why}")


def say(*lines: str) -> None:
    """Print lines with text from a crate, which could do anything to a terminal."""
    print(*map(printable, lines), sep="\n", flush=True)
