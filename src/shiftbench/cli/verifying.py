"""The verb `verify`: compares results with published ones, or with runs that it computes again."""

from __future__ import annotations

import argparse
import os
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from shiftbench.cli import results
from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable

if TYPE_CHECKING:
    from shiftbench.publish.crate_files import Limits
    from shiftbench.publish.crate_plan import CratedRun, PlannedCrate
    from shiftbench.publish.recompute import Again, Candidate, Sample
    from shiftbench.publish.recompute_published import PlannedResults, PublishedRun

VERIFIED = {"identical": 0, "rounding": 3, "interval": 4, "different": 5}
"""Exit statuses of `verify` by verdict."""
UNVERIFIED = 6
"""Exit status if some of the drawn runs, or all of them, were not computed again."""
INTERRUPTED = 130
EACH_METHOD = "each-method"
"""Size of a sample with one run of each method of each study."""
OF_PUBLISHED = ("study", "record", "config")
"""Options that apply to published results only."""


def verify(options: argparse.Namespace) -> int:
    """Compare results with published ones, or some runs with those computed again; 0 if identical.

    2: refused, with the reason; 3: equal up to rounding; 4: within the interval over seeds; 5:
    different; 6: no run was computed again, or not all that were drawn. For a crate, all files are
    compared with their checksums and with its config, and some runs with what they give when
    computed again. For a folder of published results, some runs are computed by the code here, and
    their scores compared.
    """
    from shiftbench.config import result_paths
    from shiftbench.publish import crate_metadata, result_files, verify

    no_reference = options.reference is None and options.revision is None
    if no_reference and os.path.lexists(options.results / crate_metadata.NAME):
        return _verify_crate(options)
    if no_reference and result_files.is_published(options.results):
        return _verify_published(options)
    for name in OF_PUBLISHED:
        if getattr(options, name):
            raise UserError(
                f"--{name}: is for computing runs of published results again, as of"
                " results/published/CONFIG; leave it out"
            )
    reference = options.reference or result_paths.published_beside(options.results)
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

    if not 1 <= factor <= crate_files.MOST:
        raise UserError(f"--limit {factor:g}: write a factor from 1 to {crate_files.MOST:,}")
    return crate_files.DEFAULT.raised(factor)


def sample(text: str) -> Sample:
    """Return how many runs to draw: a number, a share that ends with %, or one of each method."""
    from shiftbench.publish.recompute import Sample

    if text == EACH_METHOD:
        return Sample(by_method=True)
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else 0.0
        drawn = Sample(1, share) if share else Sample(int(text.removesuffix("%")))
    except ValueError:
        drawn = Sample(-1)
    if drawn.number < 0 or not 0 <= drawn.share <= 1:
        raise argparse.ArgumentTypeError(
            f"{text}: write a number of runs, a share as 10%, or {EACH_METHOD}"
        )
    return drawn


def _verify_published(options: argparse.Namespace) -> int:
    """Compute some runs of published results again, study by study, the cheapest study first."""
    from shiftbench.config import config_file
    from shiftbench.forecast import plan
    from shiftbench.publish import recompute, recompute_published, verify

    by = recompute_published.verifier(seed_of(options))
    config = config_file.load(results.config_of(options))
    published = recompute_published.PlannedResults(options.results, config, options.study)
    found = published.candidates(plan.estimator())
    seconds = limits_of(options.limit).seconds
    drawn = recompute.draw(found, options.sample, by.seed, seconds)
    say(f"{len(drawn)} of {len(found):,} runs are computed again, drawn with --seed {by.seed}")
    _say_what_is_missing(published, found, drawn, options.sample)
    planned = Counter(one.run.study for one in found)
    verdicts: list[str] = []
    try:
        for one in _cheapest_first(drawn):
            if (again := _again(published, one)) is None:
                continue
            verdicts.append(_report(again))
            if options.record:
                study = one.run.study
                recompute_published.record(options.results, study, again, planned[study], by)
    except KeyboardInterrupt:
        say(f"Interrupted. To go on, give the same options and --seed {by.seed}.")
        return INTERRUPTED
    if len(verdicts) < len(drawn):
        say(f"{len(drawn) - len(verdicts)} of {len(drawn)} runs could not be computed again.")
    worst = max(verdicts, key=verify.VERDICTS.index, default="identical")
    if worst == "identical" and (len(verdicts) < len(drawn) or not drawn):
        say("So the results are not verified.")
        return UNVERIFIED
    return VERIFIED[worst]


def _say_what_is_missing(
    published: PlannedResults,
    found: list[Candidate[PublishedRun]],
    drawn: list[Candidate[PublishedRun]],
    asked: Sample,
) -> None:
    """Print which methods the config lacks, and from which studies no run is drawn."""
    for study in published.studies:
        if unplanned := published.unplanned(study, found):
            say(
                f"{study}: pairs of stream and method that are published, but not in the config,"
                f" and so not verified: {unplanned}"
            )
        _say_why_none(study, found, drawn, asked)


def _cheapest_first(drawn: list[Candidate[PublishedRun]]) -> list[Candidate[PublishedRun]]:
    """Return the runs study by study, the study of the least processor time first."""
    seconds: dict[str, float] = {}
    for one in drawn:
        seconds[one.run.study] = seconds.get(one.run.study, 0.0) + one.seconds
    return sorted(drawn, key=lambda one: (seconds[one.run.study], one.run.study, one.run.name))


def _again(published: PlannedResults, one: Candidate[PublishedRun]) -> Again | None:
    """Compute a run again; None where it cannot be, after saying why."""
    try:
        return published.again(one.run)
    except (UserError, RuntimeError) as error:
        say(f"{one.run.name}: not computed again: {str(error).removeprefix(f'{one.run.name}: ')}")
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
    """Print of which studies no scores or no runs were computed again, and why."""
    for study in crate.plan.studies:
        if study not in scored:
            why = "the crate has no runs"
            if any(one.run.study == study for one in found):
                why = "some of its streams are not in the crate"
            say(f"{study}: scores not computed again, because {why}")
        _say_why_none(study, found, drawn, asked)


def _say_why_none(
    study: str, found: Sequence[Candidate], drawn: Sequence[Candidate], asked: Sample
) -> None:
    """Print why no run of a study, or of one of its methods, is computed again."""
    from shiftbench.publish import recompute

    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for one in found:
        if one.run.study == study:
            groups.setdefault(asked.group(one.run), []).append(one)
    for group, runs in groups.items():
        if any(asked.group(one.run) == group for one in drawn):
            continue
        reasons = dict.fromkeys(one.obstacle for one in runs if one.obstacle)
        shortest = min(one.seconds for one in runs)
        long = f"the shortest would take about {shortest:,.0f} s, more than is left; see --limit"
        why = "; ".join(reasons) or ("--sample is 0" if asked == recompute.NOTHING else long)
        say(f"{'/'.join(group)}: none of its {len(runs):,} runs computed again: {why}")


def say(*lines: str) -> None:
    """Print lines with text from a crate, which could do anything to a terminal."""
    print(*map(printable, lines), sep="\n", flush=True)
