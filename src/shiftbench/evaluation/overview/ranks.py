"""Average ranks of methods across streams, with the critical difference of Nemenyi's test.

Each stream is a block, however many seeds it has: the test generalises over streams, and seeds
only make a block's mean more exact. Friedman's test asks whether methods differ at all.
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

from shiftbench.config import metric_words
from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.comparison import ALPHA

METRIC = "acc"
FEWEST = 3
"""Fewest streams, and fewest methods, to test."""


@figure_style.styled
def draw(
    scores: pd.DataFrame, labels: Mapping[str, str] | None = None, bounds: Collection[str] = ()
) -> Figure:
    """Draw the critical-difference diagram of several studies.

    scores: rows of `scoring.tidy`, of any number of studies. labels: what figures call methods,
    where that is not their name. bounds: methods that are given more than the others, and have no
    rank. UserError where less than FEWEST streams share FEWEST methods.
    """
    means = shared(scores, bounds)
    ranks = average_ranks(means)
    foot = caption(means).removeprefix(f"{message(means)}. ")  # which is the title
    figure = figure_style.figure(1.2 + 0.18 * len(ranks), foot)
    axes = figure.subplots()
    # Numbers in place of names: the order of a set of names differs from run to run.
    numbers = range(len(ranks))
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(means[ranks.index].to_numpy())
    diagram = scikit_posthocs.critical_difference_diagram(
        dict(zip(numbers, ranks, strict=True)),
        p_values,
        alpha=ALPHA,
        ax=axes,
        label_fmt_left="{label}",
        label_fmt_right="{label}",
        color_palette=dict.fromkeys(numbers, figure_style.INK),
        crossbar_props={"color": figure_style.PALETTE[0]},
        elbow_props={"lw": 0.8},
        marker_props={"s": 16},
    )
    _name(diagram["labels"], ranks, labels or {})
    _finish(axes, ranks)
    figure_style.set_message(figure, message(means))
    return figure


def caption(means: pd.DataFrame) -> str:
    """Return a caption with Friedman's test and the critical difference; means: of `shared`."""
    blocks, methods = means.shape
    p = stats.friedmanchisquare(*means.to_numpy().T).pvalue
    return (
        f"{message(means)}. Ranks of {methods} methods by {metric_words.words(METRIC)} (mean over"
        f" seeds; 1 is best), averaged over {blocks} streams that have them all:"
        f" {', '.join(means.index)}. Friedman's test: p = {p:.2g}. A bar joins"
        " methods that are not significantly different: their ranks differ by less than"
        f" {critical_difference(blocks, methods):.2f}, the critical difference of Nemenyi's test"
        " at 5 %."
    )


def message(means: pd.DataFrame) -> str:
    """Say how many pairs of methods Nemenyi's test separates; means: of `shared`."""
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(means.to_numpy()).to_numpy()
    pairs = p_values[np.triu_indices(means.shape[1], 1)]
    apart = int((pairs < ALPHA).sum())
    said = f"{apart} of {len(pairs)} pairs of methods are" if apart else "No two methods are"
    return f"{said} significantly apart in average rank over {len(means)} streams"


def possible(scores: pd.DataFrame, bounds: Collection[str] = ()) -> bool:
    """Return whether enough streams share enough methods, without bounds."""
    return _largest(_means(scores, bounds).notna()) is not None


def shared(scores: pd.DataFrame, bounds: Collection[str] = ()) -> pd.DataFrame:
    """Return mean scores over seeds [stream, method], of methods that all these streams have.

    Streams with few methods are left out, so that the table is large. A stream of several studies
    counts once, in the study with most methods. UserError where less than FEWEST streams share
    FEWEST methods.
    """
    means = _means(scores, bounds)
    streams = _largest(means.notna())
    if streams is None:
        raise UserError(
            f"ranks: no {FEWEST} streams share {FEWEST} methods with {METRIC}; run more studies of"
            " continual learning with the same methods"
        )
    return means.loc[sorted(streams)].dropna(axis=1)


def _means(scores: pd.DataFrame, bounds: Collection[str]) -> pd.DataFrame:
    """Return mean scores over seeds [stream, method]; NaN where a stream lacks the method."""
    scored = scores[(scores["metric"] == METRIC) & scores["score"].notna()]
    scored = scored[~scored["method"].fillna("").isin(["", *bounds])]
    means = scored.groupby(["study", "stream", "method"], sort=True)["score"].mean().unstack()
    most_first = means.notna().sum(axis=1).sort_values(ascending=False, kind="stable").index
    means = means.loc[most_first].droplevel("study")
    return means[~means.index.duplicated()]


def average_ranks(means: pd.DataFrame) -> pd.Series:
    """Return the rank of each method, 1 for the best, averaged over streams; best first."""
    ranks = means.rank(axis=1, ascending=False).mean()
    return ranks.sort_values(kind="stable")


def critical_difference(blocks: int, methods: int) -> float:
    """Return by how much average ranks must differ for Nemenyi's test at 5 %."""
    q = stats.studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * blocks)))


def _largest(present: pd.DataFrame) -> list[str] | None:
    """Return streams whose shared methods make the largest table, or None.

    present: flags [stream, method], streams with most methods first. A greedy search drops streams
    one by one, so that most methods stay shared; of ties it drops the one with fewest methods.
    No score is looked at.
    """
    left, sizes = list(present.index), {}
    while len(left) >= FEWEST:
        methods = _methods(present, left)
        if methods >= FEWEST:
            sizes[tuple(left)] = methods * len(left)
        without = [[other for other in left if other != stream] for stream in reversed(left)]
        left = max(without, key=lambda others: _methods(present, others))
    return list(max(sizes, key=lambda streams: sizes[streams])) if sizes else None


def _methods(present: pd.DataFrame, streams: list[str]) -> int:
    """Return how many methods all these streams have."""
    return int(present.loc[streams].all().sum())


def _name(texts: Sequence[Any], ranks: pd.Series, labels: Mapping[str, str]) -> None:
    """Replace the numbers in a diagram by the names of methods and their ranks."""
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
