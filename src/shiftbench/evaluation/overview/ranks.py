"""Average ranks of methods across streams, with the critical difference of Nemenyi's test.

Each stream is a block, however many seeds it has: what the test generalises over are streams, and
seeds only make a block's mean more exact. Friedman's test asks whether methods differ at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scikit_posthocs
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.comparison import ALPHA

METRIC = "acc"
FEWEST = 3
"""Streams, and methods, below which there is nothing to test."""


@figure_style.styled
def draw(
    scores: pd.DataFrame, labels: Mapping[str, str] | None = None, bounds: Collection[str] = ()
) -> Figure:
    """The critical-difference diagram of several studies.

    scores: rows of `scoring.tidy`, of any number of studies; labels: what figures call methods,
    where that is not their name; bounds: methods that are given what the others are not, and have
    no rank. UserError where too few streams share too few methods.
    """
    means = shared(scores, bounds)
    ranks = average_ranks(means)
    drawn = figure_style.figure(1.0 + 0.18 * len(ranks), caption(means))
    axes = drawn.subplots()
    # Numbers in place of names: the order of a set of names differs from run to run.
    numbers = range(len(ranks))
    apart = scikit_posthocs.posthoc_nemenyi_friedman(means[ranks.index].to_numpy())
    made = scikit_posthocs.critical_difference_diagram(
        dict(zip(numbers, ranks, strict=True)),
        apart,
        alpha=ALPHA,
        ax=axes,
        label_fmt_left="{label}",
        label_fmt_right="{label}",
        color_palette=dict.fromkeys(numbers, figure_style.INK),
        crossbar_props={"color": figure_style.PALETTE[0]},
        elbow_props={"lw": 0.8},
        marker_props={"s": 16},
    )
    _name(made["labels"], ranks, labels or {})
    _finish(axes, ranks)
    return drawn


def caption(means: pd.DataFrame) -> str:
    """How many blocks and methods, and whether methods differ at all; means: of `shared`."""
    blocks, methods = means.shape
    p = stats.friedmanchisquare(*means.to_numpy().T).pvalue
    return (
        f"Ranks of {methods} methods by {METRIC} (mean over seeds; 1 is best), averaged over"
        f" {blocks} streams that have them all: {', '.join(means.index)}. Friedman's test: p ="
        f" {p:.2g}. Methods under one bar are not apart: their ranks differ by less than"
        f" {critical_difference(blocks, methods):.2f}, the critical difference of Nemenyi's test"
        " at 5 %."
    )


def possible(scores: pd.DataFrame, bounds: Collection[str] = ()) -> bool:
    """Whether streams share methods enough, without bounds."""
    return _largest(_means(scores, bounds).notna()) is not None


def shared(scores: pd.DataFrame, bounds: Collection[str] = ()) -> pd.DataFrame:
    """Mean score over seeds [stream, method], of the methods that all these streams have.

    Streams with few methods are left out, so that the table is large. One that several studies
    have counts once, in the study with most methods. UserError where less than three streams
    share three methods.
    """
    means = _means(scores, bounds)
    chosen = _largest(means.notna())
    if chosen is None:
        raise UserError(
            f"ranks: no {FEWEST} streams share {FEWEST} methods with {METRIC}; run more studies of"
            " continual learning with the same methods"
        )
    return means.loc[sorted(chosen)].dropna(axis=1)


def _means(scores: pd.DataFrame, bounds: Collection[str]) -> pd.DataFrame:
    """Mean score over seeds [stream, method], NaN where a stream does not have the method."""
    known = scores[(scores["metric"] == METRIC) & scores["score"].notna()]
    known = known[~known["method"].fillna("").isin(["", *bounds])]
    means = known.groupby(["study", "stream", "method"], sort=True)["score"].mean().unstack()
    most_first = means.notna().sum(axis=1).sort_values(ascending=False, kind="stable").index
    means = means.loc[most_first].droplevel("study")
    return means[~means.index.duplicated()]


def average_ranks(means: pd.DataFrame) -> pd.Series:
    """The rank of each method, 1 for the best, averaged over streams; best first."""
    ranks = means.rank(axis=1, ascending=False).mean()
    return ranks.sort_values(kind="stable")


def critical_difference(blocks: int, methods: int) -> float:
    """How far average ranks must be apart to differ by Nemenyi's test at 5 %."""
    q = stats.studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * blocks)))


def _largest(known: pd.DataFrame) -> list[str] | None:
    """Streams, of known [stream, method] with most methods first, that share most; or None.

    Found by leaving out one after the other that keeps most methods from being shared, of equal
    ones that with fewest methods; of all that are met, the largest table. No score is looked at.
    """
    left, sizes = list(known.index), {}
    while len(left) >= FEWEST:
        methods = _methods(known, left)
        if methods >= FEWEST:
            sizes[tuple(left)] = methods * len(left)
        without = [[other for other in left if other != stream] for stream in reversed(left)]
        left = max(without, key=lambda others: _methods(known, others))
    return list(max(sizes, key=lambda streams: sizes[streams])) if sizes else None


def _methods(known: pd.DataFrame, streams: list[str]) -> int:
    """How many methods all these streams have."""
    return int(known.loc[streams].all().sum())


def _name(texts: Sequence[Any], ranks: pd.Series, labels: Mapping[str, str]) -> None:
    """Puts the names of methods, with their ranks, in the place of their numbers."""
    for text in texts:
        number = int(text.get_text())
        method, rank = ranks.index[number], ranks.iloc[number]
        text.set_text(f" {labels.get(method, method)} ({rank:.2f}) ")


def _finish(axes: Axes, ranks: pd.Series) -> None:
    axes.spines["top"].set_visible(True)
    axes.set_xlim(0.9, len(ranks) + 0.1)
    axes.set_xticks(range(1, len(ranks) + 1))
    axes.set_xlabel("average rank")
    axes.xaxis.set_label_position("top")
