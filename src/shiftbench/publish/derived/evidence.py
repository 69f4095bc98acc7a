"""Compute and check the evidence for sentences from published results.

A row names the evidence for a sentence: a study with its config, a metric, and one statement about
methods. It gives the number that the sentence shows, or raises `Disagreement` if published results
do not support the statement.

Differences are paired by seed and positive where the first method is better. p is of the paired t
test, corrected by Holm's method over every other method of the study against the second one, on
all streams that the row names; resolved means p < 0.05.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from shiftbench.config import components
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import comparison, ranking, statistics
from shiftbench.evaluation.scoring.comparison import ALPHA
from shiftbench.evaluation.scoring.statistics import Interval
from shiftbench.publish.derived import clocks, tables
from shiftbench.publish.derived.clocks import PairedLead

Scores = dict[str, np.ndarray]
"""Scores [seed] by method."""


class Disagreement(Exception):
    """Raised with the reason if published results do not support a sentence."""


class Unpublished(UserError):
    """Raised if a sentence rests on a study, `study`, whose scores are not published."""

    def __init__(self, study: str, folder: Path) -> None:
        super().__init__(f'no scores of the study "{study}" are published in {folder}')
        self.study = study


class Evidence(BaseModel):
    """Evidence for a sentence: a place in the published results and one statement."""

    model_config = ConfigDict(extra="forbid")

    study: str = Field(default="", description="CONFIG/STUDY, a folder of results/published")
    metric: str = "accuracy"
    streams: str = Field(default="*", description="a pattern of names; all streams if not given")
    decimals: int | None = Field(
        default=None, description="of the number; if not given by its size"
    )

    value: str | None = Field(
        default=None, description="mean score of the method, over seeds and streams"
    )
    best: str | None = Field(default=None, description="the method has the best mean; its mean")
    leads: tuple[str, str] | None = Field(
        default=None, description="resolved on every stream; by how much"
    )
    counts: tuple[str, str] | None = Field(
        default=None, description="on how many streams it is resolved"
    )
    unresolved: tuple[str, str] | None = Field(default=None, description="on no stream resolved")
    beats_clock: str | None = Field(
        default=None,
        description="resolved on every stream against the best detector that does not look; by how"
        " much. `streams: all streams` is the mean over them",
    )
    clock_counts: str | None = Field(
        default=None, description="on how many streams the method beats the best clock"
    )
    no_better_than_clock: str | None = Field(
        default=None,
        description="on no stream does the method, or one of a pattern, beat the best clock",
    )
    paper: str | None = Field(
        default=None, description="the number that a paper prints for the method"
    )
    claim: str | None = Field(default=None, description="a claim of config/claims with its number")
    verdict: str = Field(default="reproduced", description="of the claim")
    trials: str | None = Field(
        default=None, description="all: every method has as many trials; the number"
    )
    costs: str | None = Field(
        default=None, description="a config: minutes or hours of processor time"
    )

    @property
    def kind(self) -> str:
        """The statement of the row. Raises UserError unless there is exactly one."""
        kinds = [name for name in KINDS if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise UserError(f"a row has one of {', '.join(KINDS)}; here: {', '.join(kinds)}")
        return kinds[0]


class Answer(NamedTuple):
    """Numbers of a row that a sentence can show.

    In a template, `{NAME}` is `text`, and `{NAME.low}`, `{NAME.interval}`, ... are the others. low,
    high: ends of an interval; least, most: range over streams; of: number of streams.
    """

    text: str
    low: str = ""
    high: str = ""
    least: str = ""
    most: str = ""
    of: str = ""

    @property
    def interval(self) -> str:
        """95 % interval in brackets."""
        return f"[{self.low}, {self.high}]"

    def __format__(self, _: str) -> str:
        return self.text


class PublishedResults:
    """Folder of the published results of all configs; files are read when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scores = cache(self._scores)
        self.against = cache(self._against)
        ledger = folder / "ledger.csv"
        self.ledger = cache(lambda: pd.read_csv(ledger, dtype=str, keep_default_na=False))
        self.costs = cache(lambda: pd.read_csv(folder / "costs.csv"))

    def study_folder(self, study: str) -> Path:
        """Return the folder of a study CONFIG/STUDY. Raises Unpublished without its scores."""
        config, _, name = study.partition("/")
        folder = self.folder / config / "studies" / name
        if not (folder / "scores.csv").exists():
            raise Unpublished(study, self.folder)
        return folder

    def answer(self, row: Evidence) -> Answer:
        """Return the numbers of a row. Raises Disagreement if its statement does not hold."""
        return KINDS[row.kind](self, row)

    def by_stream(self, row: Evidence) -> dict[str, Scores]:
        """Return the scores of the row's metric, by stream."""
        by_stream = {
            stream: scores
            for (stream, metric), scores in self.scores(row.study).items()
            if metric == row.metric and fnmatch(stream, row.streams)
        }
        if not by_stream:
            raise UserError(
                f'the study "{row.study}" has no metric "{row.metric}" on a stream "{row.streams}"'
            )
        return by_stream

    def learners(self, study: str) -> list[str]:
        """Return the names of a study's methods."""
        return list(next(iter(self.scores(study).values())))

    def _against(
        self, study: str, metric: str, streams: str, other: str
    ) -> dict[tuple[str, str], PairedLead]:
        """Compare all methods with one, by stream and name; p by Holm's method over all."""
        row = Evidence(study=study, metric=metric, streams=streams)
        comparisons = {
            (stream, name): ranking.better(metric, values, scores[other])
            for stream, scores in self.by_stream(row).items()
            for name, values in scores.items()
            if name != other
        }
        p = comparison.corrected([each.p for each in comparisons.values()])
        return {
            key: PairedLead(each.difference, float(corrected))
            for (key, each), corrected in zip(comparisons.items(), p, strict=True)
        }

    def _scores(self, study: str) -> dict[tuple[str, str], Scores]:
        return tables.by_metric(tables.cube(tables.scores(self.study_folder(study))))


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
    folder, methods = published.study_folder(row.study), str(getattr(row, row.kind))
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
    table = pd.read_csv(published.study_folder(row.study) / "summary.csv")
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
    choices = folder.with_name(folder.name + TRIALS) / "choices"
    tried = {
        path.stem: len(json.loads(path.read_text(encoding="utf-8"))["trials"])
        for path in sorted(choices.glob("*/*.json"))
    }
    untried = set(published.learners(row.study)) - set(tried)
    if untried:
        raise Disagreement(f"{', '.join(sorted(untried))} of {row.study} had no trials")
    if len(set(tried.values())) > 1:
        few, many = min(tried, key=tried.__getitem__), max(tried, key=tried.__getitem__)
        raise Disagreement(f"{few} of {row.study} had {tried[few]} trials, {many} {tried[many]}")
    return Answer(str(next(iter(tried.values()))))


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
    "costs": lambda published, row: Answer(hours(published, str(row.costs))),
}
"""Function that computes and checks a row, by the key of its statement."""


def hours(published: PublishedResults, config: str) -> str:
    """Return the processor time of published studies of a config, with trials, in words."""
    table = published.costs()
    rows = table[table["config"] == config]
    total = float(rows["core_hours"].sum() + rows["trials"].sum())
    return f"{total:.1f} hours" if total >= 1 else f"{60 * total:.1f} minutes"


def largest_memory(published: PublishedResults, config: str) -> str:
    """Return the most memory that a job of the published studies of a config used, in words."""
    files = sorted(published.folder.glob(f"{config}/studies/*/costs.csv"))
    used = max(pd.read_csv(path, usecols=["memory"])["memory"].max() for path in files)
    return f"{used / 1e9:.1f} GB"


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


def number(value: float, row: Evidence) -> str:
    """Return fractions in percent with one decimal, other numbers with three digits."""
    of_fraction = components.metric(row.metric).unit == "fraction"
    if row.decimals is not None:
        return f"{value * (100 if of_fraction else 1):z,.{row.decimals}f}"
    return f"{100 * value:z.1f}" if of_fraction else f"{value:z.3g}"


def _describe(row: Evidence, stream: str, first: str, second: str, lead: PairedLead) -> str:
    ours = _interval(lead.difference, row)
    return (
        f"{row.metric} of {first} over {second} in {row.study} on {stream} is {ours}"
        f" {ours.interval} with corrected p = {lead.p:.2g}"
    )
