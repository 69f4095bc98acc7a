"""Average cumulative loss of each method against the number of rows, with a band over orders.

The figure of cherief2019online (its slides "Test on a simulated dataset", "Test on the Breast
dataset"). Solid: loss of the posterior mean, l_t(m_t); dotted: expected loss under the posterior,
if the study has it; dashed: the best fixed predictor in hindsight, if the study has the regret.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import hindsight
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("average_cumulative_loss",), rows=("best-fixed",))

METRIC = "average_cumulative_loss"
EXPECTED = "average_cumulative_expected_loss"
BURN_IN = 10
"""First number of rows drawn: the mean over fewer is noise, and would set the scale."""
POINTS = 300
"""Number of points on a line; more would only make the file larger."""
BANDS = 2
"""Number of methods with a band, as more would cover each other: those that end lowest."""
DECADES = 3
"""Powers of ten on an axis from which on no other numbers have room."""
BAND = (0.1, 0.9)
"""Quantiles over orders; unlike a standard deviation they stay above 0 on the log scale."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one panel per stream. Raises UserError without the metric."""
    study.require_metrics("average-cumulative-loss", METRIC)
    return figure_style.panel_per_stream(
        study.streams,
        3.1,
        message(study),
        _foot(study),
        study.basis(),
        partial(_draw_stream, study),
        legend=False,
    )


def caption(study: StudyResults) -> str:
    """Say who ends best, describe the lines, the number of runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which method ends with the smallest average loss, or on how many streams."""
    ends = {
        stream: {name: _ends(study, stream, name) for name in study.methods}
        for stream in study.streams
    }
    return _best.smallest(study, ends, "average loss", ("ends with", "end with"))


def _ends(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the value at the end of a method's line [seed]; NaN for orders that failed."""
    return _orders(study, stream, method, METRIC)[:, -1]


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    dotted = (
        "; dotted: expected loss under the posterior, where that is another"
        if EXPECTED in study.metrics
        else ""
    )
    best = (
        ". Dashed: the best fixed predictor in hindsight, mean over orders"
        if "regret" in study.metrics
        else ""
    )
    grey = "; grey: the others" if len(study.methods) > highlights.MOST else ""
    changes = any(map(_changes, study.streams.values()))
    return (
        "Prequential loss averaged over the rows so far (hinge for two classes, squared for real "
        f"values), mean over random orders of the rows; bands, of the {BANDS} that end lowest: the "
        f"middle 80 % of the orders{grey}. Lines with markers: loss of the predicted mean"
        f"{dotted}{best}.{' Dotted, vertical: true changes.' * changes} {study.basis()}"
    )


def running_mean(values: np.ndarray) -> np.ndarray:
    """Return the mean of values [seed, task] over the tasks so far."""
    return values.cumsum(axis=1) / np.arange(1, values.shape[1] + 1)


def _draw_stream(study: StudyResults, panel: Axes, stream: str) -> None:
    t = _drawn_rows(study.streams[stream].sizes["task"])
    lines = {name: _orders(study, stream, name, METRIC) for name in study.methods}
    means = {name: each.mean(axis=0) for name, each in lines.items()}
    coloured = highlights.leaders({name: -mean[-1] for name, mean in means.items()})
    for number, (method, mean) in enumerate(means.items()):
        style = highlights.style(study, method, coloured)
        markers = figure_style.marker_positions(number, len(study.methods), len(t))
        panel.plot(t, mean, **style, lw=1.4, ms=4, markevery=markers, label=study.label(method))
        if method in coloured[:BANDS]:
            low, high = np.quantile(lines[method], BAND, axis=0)
            panel.fill_between(t, low, high, color=style["color"], alpha=0.15, lw=0)
        if EXPECTED in study.metrics and method in coloured:
            expected = _orders(study, stream, method, EXPECTED).mean(axis=0)
            if not np.allclose(expected, mean):  # equal for a posterior that is one point
                panel.plot(t, expected, color=style["color"], lw=0.9, ls=":")
    _draw_best(panel, study, stream)
    for task in _changes(study.streams[stream]):
        panel.axvline(task, color=figure_style.MUTED, lw=1.0, ls=":", zorder=0)
    panel.set(xlabel="rows seen", ylabel="average loss so far", yscale="log")
    _set_ticks(panel)
    ends = {name: (t[-1], means[name][-1]) for name in coloured}
    highlights.name_ends(panel, highlights.ends(study, ends, coloured))


def _changes(store: xr.Dataset) -> list[int]:
    """Return the numbers of rows seen at the true changes that all realisations have."""
    if "shift" not in store:
        return []
    return [int(task) for task in np.flatnonzero(store["shift"].values.all(axis=0)) if task]


def _set_ticks(panel: Axes) -> None:
    """Label powers of ten and, on axes of few of them, also twice and five times these."""
    low, high = panel.get_ylim()
    few = high < 10**DECADES * low
    panel.xaxis.set_major_locator(MaxNLocator(5))
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_major_formatter(lambda x, _: _number(x))
    panel.yaxis.set_minor_formatter(lambda x, _: _number(x) if few and f"{x:e}"[0] in "25" else "")
    panel.tick_params(which="minor", labelsize=7)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _drawn_rows(rows: int) -> np.ndarray:
    """Return the numbers of rows seen at which lines have a point, from the burn-in to the end."""
    return np.unique(np.linspace(min(BURN_IN, rows), rows, POINTS).astype(int))


def _orders(study: StudyResults, stream: str, method: str, metric: str) -> np.ndarray:
    """Return the average so far [order, drawn] of orders that did not fail; else one of NaN."""
    lines = running_mean(study.by_task(stream, method, metric))
    kept = lines[~np.isnan(lines).any(axis=1)][:, _drawn_rows(lines.shape[1]) - 1]
    return kept if len(kept) else np.full((1, kept.shape[1]), np.nan)


def _draw_best(panel: Axes, study: StudyResults, stream: str) -> None:
    """Draw the loss per row that the regret is measured against, if that is the loss shown."""
    best = hindsight.loss(study, stream)
    if best is not None:
        style = {"color": "black", "lw": 1.1, "ls": "--"}
        panel.axhline(np.nanmean(best), **style, label="best fixed predictor")
