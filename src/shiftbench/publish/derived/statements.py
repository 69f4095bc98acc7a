"""Check the statements of rows of evidence, by the published results.

A statement gives the number that a sentence shows, or raises `Disagreement` if published results do
not support it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatch

import numpy as np

from shiftbench.config import result_paths
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import ranking, statistics, summary_files
from shiftbench.evaluation.scoring.comparison import ALPHA
from shiftbench.evaluation.scoring.ranking import PairedLead
from shiftbench.evaluation.scoring.statistics import Interval
from shiftbench.publish.derived import clocks
from shiftbench.publish.derived.evidence import (
    Answer,
    Disagreement,
    Evidence,
    PublishedResults,
    Scores,
    number,
)


def kind(row: Evidence) -> str:
    """Return the statement of a row. UserError unless there is exactly one."""
    kinds = [name for name in KINDS if getattr(row, name) is not None]
    if len(kinds) != 1:
        raise UserError(f"a row has one of {', '.join(KINDS)}; here: {', '.join(kinds)}")
    return kinds[0]


def answer(published: PublishedResults, row: Evidence) -> Answer:
    """Return the numbers of a row. Raises Disagreement if its statement does not hold."""
    return KINDS[kind(row)](published, row)


def _leads_by_stream(
    published: PublishedResults, row: Evidence, first: str, second: str
) -> dict[str, PairedLead]:
    """Return the lead of one method over the other, by stream."""
    for scores in published.by_stream(row).values():
        _scores_of(scores, first, row)
        _scores_of(scores, second, row)
    leads = published.against(row.study, row.metric, row.streams, second)
    return {stream: lead for (stream, name), lead in leads.items() if name == first}


def _value(published: PublishedResults, row: Evidence) -> Answer:
    means = [
        statistics.interval(_scores_of(scores, str(row.value), row), statistics.bounds(row.metric))
        for scores in published.by_stream(row).values()
    ]
    if len(means) == 1:
        return _interval(means[0], row)
    return Answer(number(float(np.nanmean([each.mean for each in means])), row))


def _best(published: PublishedResults, row: Evidence) -> Answer:
    for stream, scores in published.by_stream(row).items():
        best = next(iter(ranking.best_first(scores, row.metric)))
        if best != row.best:
            raise Disagreement(f"on {stream} {best} has the best {row.metric}, not {row.best}")
    return _value(published, row.model_copy(update={"value": row.best}))


def _leads(published: PublishedResults, row: Evidence) -> Answer:
    assert row.leads
    leads = _leads_by_stream(published, row, *row.leads)
    for stream, lead in leads.items():
        if not lead.resolved:
            raise Disagreement(f"{_describe(row, stream, *row.leads, lead)}: no resolved lead")
    return _range([lead.difference for lead in leads.values()], row)


def _counts(published: PublishedResults, row: Evidence) -> Answer:
    assert row.counts
    return _counted(list(_leads_by_stream(published, row, *row.counts).values()), row)


def _counted(leads: list[PairedLead], row: Evidence) -> Answer:
    """Return the number of leads that are resolved, and their range."""
    resolved = [lead.difference for lead in leads if lead.resolved]
    answer = _range(resolved, row) if resolved else Answer("")
    return answer._replace(text=str(len(resolved)), of=str(len(leads)))


def _unresolved(published: PublishedResults, row: Evidence) -> Answer:
    assert row.unresolved
    leads = _leads_by_stream(published, row, *row.unresolved)
    for stream, lead in leads.items():
        if lead.p < ALPHA:
            raise Disagreement(f"{_describe(row, stream, *row.unresolved, lead)}: it is resolved")
    return _range([lead.difference for lead in leads.values()], row)._replace(of=str(len(leads)))


def _over_clock(published: PublishedResults, row: Evidence) -> dict[tuple[str, str], PairedLead]:
    """Return the leads of the row's methods over the best clock, by stream and method."""
    folder, methods = published.study_folder(row.study), str(getattr(row, kind(row)))
    return clocks.leads(folder, row.metric, row.streams, methods)


def _beats_clock(published: PublishedResults, row: Evidence) -> Answer:
    leads = _over_clock(published, row)
    for (stream, name), lead in leads.items():
        if not lead.resolved:
            raise Disagreement(f"{_describe(row, stream, name, 'a clock', lead)}: no resolved lead")
    return _range([lead.difference for lead in leads.values()], row)


def _clock_counts(published: PublishedResults, row: Evidence) -> Answer:
    return _counted(list(_over_clock(published, row).values()), row)


def _no_better_than_clock(published: PublishedResults, row: Evidence) -> Answer:
    leads = _over_clock(published, row)
    for (stream, name), lead in leads.items():
        if lead.resolved:
            raise Disagreement(f"{_describe(row, stream, name, 'a clock', lead)}: it is resolved")
    answer = _range([lead.difference for lead in leads.values()], row)
    return answer._replace(of=str(len(leads)))


def _paper(published: PublishedResults, row: Evidence) -> Answer:
    table = summary_files.read(published.study_folder(row.study) / result_paths.SUMMARY)
    rows = table[(table["learner"] == row.paper) & (table["metric"] == row.metric)]
    rows = rows[[fnmatch(name, row.streams) for name in rows["stream"]]]
    if len(rows) != 1 or rows["published"].isna().any():
        raise Disagreement(f"no paper's number is published for {row.paper} in {row.study}")
    return Answer(number(float(rows["published"].iloc[0]), row))


def _claim(published: PublishedResults, row: Evidence) -> Answer:
    ledger = published.ledger()
    studies = ledger["config"] + "/" + ledger["study"]
    rows = ledger[(ledger["claim"] == row.claim) & (studies == row.study)]
    rows = rows[[fnmatch(name, row.streams) for name in rows["stream"]]]
    if len(rows) != 1:
        raise UserError(f"{len(rows)} rows of ledger.csv are about {row.claim} in {row.study}")
    (judged,) = rows.to_dict("records")
    if judged["verdict"] != row.verdict:
        raise Disagreement(f"the claim {row.claim} is {judged['verdict']}, not {row.verdict}")
    of_metric = row.model_copy(update={"metric": judged["metric"]})
    ends = ("ours", "low", "high")
    return Answer(*(number(float(judged[key] or "nan"), of_metric) for key in ends))


def _trials(published: PublishedResults, row: Evidence) -> Answer:
    folder = published.study_folder(row.study)
    choices = folder.with_name(folder.name + TRIALS) / result_paths.CHOICES
    tried = {
        path.stem: len(json.loads(path.read_text(encoding="utf-8"))["trials"])
        for path in sorted(choices.glob("*/*.json"))
    }
    untried = set(published.methods(row.study)) - set(tried)
    if untried:
        raise Disagreement(f"{', '.join(sorted(untried))} of {row.study} had no trials")
    if len(set(tried.values())) > 1:
        few, many = min(tried, key=tried.__getitem__), max(tried, key=tried.__getitem__)
        raise Disagreement(f"{few} of {row.study} had {tried[few]} trials, {many} {tried[many]}")
    return Answer(str(next(iter(tried.values()))))


def _scores_of(scores: Scores, name: str, row: Evidence) -> np.ndarray:
    if name not in scores:
        raise UserError(f'the study "{row.study}" has no method "{name}"')
    return scores[name]


def _interval(of: Interval, row: Evidence) -> Answer:
    return Answer(*(number(value, row) for value in (of.mean, of.low, of.high)))


def _range(differences: list[Interval], row: Evidence) -> Answer:
    """Return one difference with its interval, or the smallest and the largest of several."""
    if len(differences) == 1:
        return _interval(differences[0], row)
    means = [difference.mean for difference in differences]
    least, most = number(min(means), row), number(max(means), row)
    return Answer(f"{least} to {most}", least=least, most=most)


def _describe(row: Evidence, stream: str, first: str, second: str, lead: PairedLead) -> str:
    ours = _interval(lead.difference, row)
    return (
        f"{row.metric} of {first} over {second} in {row.study} on {stream} is {ours}"
        f" {ours.interval} with corrected p = {lead.p:.2g}"
    )


KINDS: Mapping[str, Callable[[PublishedResults, Evidence], Answer]] = {
    "value": _value,
    "best": _best,
    "leads": _leads,
    "counts": _counts,
    "unresolved": _unresolved,
    "beats_clock": _beats_clock,
    "clock_counts": _clock_counts,
    "no_better_than_clock": _no_better_than_clock,
    "paper": _paper,
    "claim": _claim,
    "trials": _trials,
    "costs": lambda published, row: Answer(published.hours(str(row.costs))),
}
"""Function that computes and checks a row, by the key of its statement."""
