"""Evidence for sentences: rows that name it, and the published results that they are about.

A row names a study with its config, a metric, and one statement about methods; `derived.statements`
checks it.

Differences are paired by seed and positive where the first method is better. p is of the paired t
test, corrected by Holm's method over every other method of the study against the second one, on
all streams that the row names; resolved means p < 0.05.
"""

from __future__ import annotations

from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from shiftbench.config import result_paths
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import comparison, ranking, tidy_files, units
from shiftbench.evaluation.scoring.ranking import PairedLead
from shiftbench.forecast import records
from shiftbench.publish.derived import tables

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
        folder = result_paths.study(self.folder / config, name)
        if not (folder / result_paths.SCORE_TABLE).exists():
            raise Unpublished(study, self.folder)
        return folder

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

    def methods(self, study: str) -> list[str]:
        """Return the names of a study's methods."""
        return list(next(iter(self.scores(study).values())))

    def hours(self, config: str) -> str:
        """Return the processor time of the studies of a config, with trials, in words."""
        table = self.costs()
        rows = table[table["config"] == config]
        total = float(rows["core_hours"].sum() + rows["trials"].sum())
        return f"{total:.1f} hours" if total >= 1 else f"{60 * total:.1f} minutes"

    def largest_memory(self, config: str) -> str:
        """Return the most memory that a job of the studies of a config used, in words."""
        files = sorted(self.folder.glob(f"{config}/{result_paths.STUDIES}/*/{records.TABLE}"))
        used = max(pd.read_csv(path, usecols=["memory"])["memory"].max() for path in files)
        return f"{used / 1e9:.1f} GB"

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
        rows = tidy_files.read(self.study_folder(study) / result_paths.SCORE_TABLE)
        return tables.by_metric(tidy_files.cube(rows))


def number(value: float, row: Evidence) -> str:
    """Return fractions in percent with one decimal, other numbers with three digits."""
    if row.decimals is not None:
        return f"{units.factor(row.metric) * value:z,.{row.decimals}f}"
    return units.text(row.metric, value)
