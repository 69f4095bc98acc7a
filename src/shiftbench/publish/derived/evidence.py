"""Evidence for sentences: rows of what is published, computed and checked.

A row names what a sentence rests on: a study with its config, a metric, and one statement about
methods. It gives the number that the sentence shows, or a `Disagreement` where what is published
does not bear out the statement.

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
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from shiftbench.config import components
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import comparison, ranking, statistics
from shiftbench.evaluation.scoring.comparison import ALPHA
from shiftbench.evaluation.scoring.statistics import Interval
from shiftbench.publish.derived import tables

Scores = dict[str, np.ndarray]
"""Scores [seed] by method."""


class Disagreement(Exception):
    """Raised with the reason if published results do not support a sentence."""


class Row(BaseModel):
    """Evidence for a sentence: a place in the published results and one statement."""

    model_config = ConfigDict(extra="forbid")

    study: str = Field("", description="CONFIG/STUDY, a folder of results/published")
    metric: str = "accuracy"
    streams: str = Field("*", description="a pattern of names; all streams if not given")
    decimals: int | None = Field(None, description="of the number; if not given by its size")

    value: str | None = Field(None, description="mean score of the method, over seeds and streams")
    best: str | None = Field(None, description="the method has the best mean; its mean")
    leads: tuple[str, str] | None = Field(None, description="resolved on every stream; by how much")
    counts: tuple[str, str] | None = Field(None, description="on how many streams it is resolved")
    unresolved: tuple[str, str] | None = Field(None, description="on no stream resolved")
    paper: str | None = Field(None, description="the number that a paper prints for the method")
    claim: str | None = Field(None, description="a claim of config/claims with its number")
    verdict: str = Field("reproduced", description="of the claim")
    trials: str | None = Field(None, description="all: every method has as many trials; the number")
    costs: str | None = Field(None, description="a config: minutes or hours of processor time")

    @property
    def kind(self) -> str:
        """The statement of the row. Raises UserError unless there is exactly one."""
        kinds = [name for name in KINDS if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise UserError(f"a row has one of {', '.join(KINDS)}; here: {', '.join(kinds)}")
        return kinds[0]


class Answer(NamedTuple):
    """The part of a row that a sentence shows: a number, an interval or a range of streams.

    In a template `{NAME}` is the number; `{NAME.interval}`, `{NAME.low}` and the others the rest.
    """

    text: str
    low: str = ""
    high: str = ""
    least: str = ""
    most: str = ""
    of: str = ""

    @property
    def interval(self) -> str:
        """The 95 % interval in brackets."""
        return f"[{self.low}, {self.high}]"

    def __format__(self, _: str) -> str:
        return self.text


class Published:
    """The folder of what is published of all configs, read as rows ask for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scores = cache(self._scores)
        self.against = cache(self._against)
        self.ledger = cache(lambda: _texts(folder / "ledger.csv"))
        self.costs = cache(lambda: pd.read_csv(folder / "costs.csv"))

    def place(self, study: str) -> Path:
        """The folder of a study CONFIG/STUDY. UserError where it is not published."""
        config, _, name = study.partition("/")
        found = self.folder / config / "studies" / name
        if not (found / "scores.csv").exists():
            raise UserError(f'no scores of the study "{study}" are published in {self.folder}')
        return found

    def answer(self, row: Row) -> Answer:
        """The number of a row. Disagreement where its statement does not hold."""
        return KINDS[row.kind](self, row)

    def of(self, row: Row) -> dict[str, Scores]:
        """Scores of the row's metric, by stream."""
        found = {
            stream: scores
            for (stream, metric), scores in self.scores(row.study).items()
            if metric == row.metric and fnmatch(stream, row.streams)
        }
        if not found:
            raise UserError(
                f'the study "{row.study}" has no metric "{row.metric}" on a stream "{row.streams}"'
            )
        return found

    def learners(self, study: str) -> list[str]:
        """The names of a study's methods."""
        return list(next(iter(self.scores(study).values())))

    def _against(
        self, study: str, metric: str, streams: str, other: str
    ) -> dict[tuple[str, str], Pair]:
        """All methods against one, by stream and name; p by Holm's method over them all."""
        found = {
            (stream, name): ranking.better(metric, values, scores[other])
            for stream, scores in self.of(Row(study=study, metric=metric, streams=streams)).items()
            for name, values in scores.items()
            if name != other
        }
        p = comparison.corrected([one.p for one in found.values()])
        return {
            place: Pair(one.difference, float(corrected))
            for (place, one), corrected in zip(found.items(), p, strict=True)
        }

    def _scores(self, study: str) -> dict[tuple[str, str], Scores]:
        return tables.by_metric(tables.cube(tables.scores(self.place(study))))


class Pair(NamedTuple):
    """Return the lead of one method over another on a stream, and the corrected p."""

    difference: Interval
    p: float

    @property
    def resolved(self) -> bool:
        """Whether the first is better, beyond what seeds explain."""
        return self.p < ALPHA and self.difference.mean > 0


def _pairs(published: Published, row: Row, one: str, other: str) -> dict[str, Pair]:
    """Return the lead of one method over the other, by stream."""
    for scores in published.of(row).values():
        _method(scores, one, row)
        _method(scores, other, row)
    found = published.against(row.study, row.metric, row.streams, other)
    return {stream: pair for (stream, name), pair in found.items() if name == one}


def _value(published: Published, row: Row) -> Answer:
    means = [
        statistics.interval(_method(scores, str(row.value), row), statistics.bounds(row.metric))
        for scores in published.of(row).values()
    ]
    if len(means) == 1:
        return _interval(means[0], row)
    return Answer(_number(float(np.nanmean([one.mean for one in means])), row))


def _best(published: Published, row: Row) -> Answer:
    for stream, scores in published.of(row).items():
        best = next(iter(ranking.best_first(scores, row.metric)))
        if best != row.best:
            raise Disagreement(f"on {stream} {best} has the best {row.metric}, not {row.best}")
    return _value(published, row.model_copy(update={"value": row.best}))


def _leads(published: Published, row: Row) -> Answer:
    assert row.leads
    pairs = _pairs(published, row, *row.leads)
    for stream, pair in pairs.items():
        if not pair.resolved:
            raise Disagreement(f"{_told(row, stream, *row.leads, pair)}: no resolved lead")
    return _range([pair.difference for pair in pairs.values()], row)


def _counts(published: Published, row: Row) -> Answer:
    assert row.counts
    pairs = _pairs(published, row, *row.counts)
    resolved = [pair.difference for pair in pairs.values() if pair.resolved]
    ends = _range(resolved, row) if resolved else Answer("")
    return ends._replace(text=str(len(resolved)), of=str(len(pairs)))


def _unresolved(published: Published, row: Row) -> Answer:
    assert row.unresolved
    pairs = _pairs(published, row, *row.unresolved)
    for stream, pair in pairs.items():
        if pair.p < ALPHA:
            raise Disagreement(f"{_told(row, stream, *row.unresolved, pair)}: it is resolved")
    return _range([pair.difference for pair in pairs.values()], row)._replace(of=str(len(pairs)))


def _paper(published: Published, row: Row) -> Answer:
    table = pd.read_csv(published.place(row.study) / "summary.csv")
    rows = table[(table["learner"] == row.paper) & (table["metric"] == row.metric)]
    rows = rows[[fnmatch(name, row.streams) for name in rows["stream"]]]
    if len(rows) != 1 or rows["published"].isna().any():
        raise Disagreement(f"no paper's number is published for {row.paper} in {row.study}")
    return Answer(_number(float(rows["published"].iloc[0]), row))


def _claim(published: Published, row: Row) -> Answer:
    ledger = published.ledger()
    places = ledger["config"] + "/" + ledger["study"]
    found = ledger[(ledger["claim"] == row.claim) & (places == row.study)]
    found = found[[fnmatch(name, row.streams) for name in found["stream"]]]
    if len(found) != 1:
        raise UserError(f"{len(found)} rows of ledger.csv are about {row.claim} in {row.study}")
    (one,) = found.to_dict("records")
    if one["verdict"] != row.verdict:
        raise Disagreement(f"the claim {row.claim} is {one['verdict']}, not {row.verdict}")
    about = row.model_copy(update={"metric": one["metric"]})
    return Answer(*(_number(float(one[key] or "nan"), about) for key in ("ours", "low", "high")))


def _trials(published: Published, row: Row) -> Answer:
    place = published.place(row.study)
    choices = place.with_name(place.name + TRIALS) / "choices"
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


def _costs(published: Published, row: Row) -> Answer:
    return Answer(hours(published, str(row.costs)))


KINDS: Mapping[str, Callable[[Published, Row], Answer]] = {
    "value": _value,
    "best": _best,
    "leads": _leads,
    "counts": _counts,
    "unresolved": _unresolved,
    "paper": _paper,
    "claim": _claim,
    "trials": _trials,
    "costs": _costs,
}
"""By the key of a row, what computes and checks it."""


def hours(published: Published, config: str) -> str:
    """Processor time of the published studies of a config, their trials included, in words."""
    table = published.costs()
    rows = table[table["config"] == config]
    total = float(rows["core_hours"].sum() + rows["trials"].sum())
    return f"{total:.1f} hours" if total >= 1 else f"{60 * total:.1f} minutes"


def _method(scores: Scores, name: str, row: Row) -> np.ndarray:
    if name not in scores:
        raise UserError(f'the study "{row.study}" has no method "{name}"')
    return scores[name]


def _interval(of: Interval, row: Row) -> Answer:
    return Answer(*(_number(one, row) for one in (of.mean, of.low, of.high)))


def _range(differences: list[Interval], row: Row) -> Answer:
    """One difference with its interval, or the smallest and the largest of several."""
    if len(differences) == 1:
        return _interval(differences[0], row)
    means = [one.mean for one in differences]
    least, most = _number(min(means), row), _number(max(means), row)
    return Answer(f"{least} to {most}", least=least, most=most)


def _number(value: float, row: Row) -> str:
    """Percent or points with one decimal of fractions, three digits of anything else."""
    of_fraction = components.metric(row.metric).unit == "fraction"
    if row.decimals is not None:
        return f"{value * (100 if of_fraction else 1):z,.{row.decimals}f}"
    return f"{100 * value:z.1f}" if of_fraction else f"{value:z.3g}"


def _told(row: Row, stream: str, one: str, other: str, pair: Pair) -> str:
    ours = _interval(pair.difference, row)
    return (
        f"{row.metric} of {one} over {other} in {row.study} on {stream} is {ours}"
        f" {ours.interval} with corrected p = {pair.p:.2g}"
    )


def _texts(path: Path) -> Any:
    return pd.read_csv(path, dtype=str, keep_default_na=False)
