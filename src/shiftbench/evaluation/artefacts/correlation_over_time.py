"""Predicted correlation of several series over time, and the changes that each method finds.

For each stream, top: the correlation of two series in the prediction of their next values, mean
over pairs (metric predicted_correlation), for each method; black: the true one, where it is known.
Below: the changes of each method that decides about them, in hindsight, of all seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _change_lines, _series
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

METRIC = "predicted_correlation"
FACTS = Facts(requires=("series",), refuses=("blocks",), from_learner=("changes",), uses=(METRIC,))

TALL, LINE = 2.6, 0.3
"""Heights of the correlations and of a method's line below them, in inches."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a block per stream. UserError without the metric or a method that finds changes."""
    study.require_metrics("correlation-over-time", METRIC)
    methods = _change_lines.deciding(study, "correlation-over-time", every=True)
    heights = [TALL, LINE * (len(methods) + 0.5)]
    height = (sum(heights) + 0.6 + figure_style.MESSAGE) * len(study.streams)
    figure = figure_style.figure(height, _foot(study), study.basis())
    letters = figure_style.panel_letters(len(study.streams))
    blocks = figure_style.divide(figure, study.streams)
    for (stream, block), letter in zip(blocks, letters, strict=True):
        panels = figure_style.below_message(block, _message(study, stream))
        top, below = panels.subplots(2, 1, sharex=True, height_ratios=heights)
        _draw_correlations(top, study, stream)
        figure_style.set_title(top, letter, "")
        _change_lines.draw(below, study, stream, methods, every=True)
    return figure


def caption(study: StudyResults) -> str:
    """Count the changes, describe the lines, the number of runs and the reductions."""
    messages = "".join(f"{_message(study, stream)}. " for stream in study.streams)
    return f"{messages}{_foot(study)}"


def _message(study: StudyResults, stream: str) -> str:
    """Say how many changes each method infers on a stream, and how many there are if known."""
    methods = _change_lines.deciding(study, "correlation-over-time", every=True)
    said = _change_lines.counts(study, stream, methods, every=True)
    true = int(study.streams[stream]["shift"].values[0].sum())
    return f"{said}; {_change_lines.there_are(true)}" if true else said


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    known = any("correlation" in store for store in study.streams.values())
    black = "Black: the true one; grey lines: its changes. " if known else ""
    interval = statistics.described(METRIC)
    return (
        "Correlation of two series in the prediction of their next values, mean over pairs and"
        f" seeds; {figure_style.spread_note(study, interval)}, of those that infer changes. {black}"
        "Below: changes in the most probable segmentation of each seed, found by backtracking from"
        " the end, darker where more agree; their mean number is in the title."
        f" {study.basis()}"
    )


def _draw_correlations(panel: Axes, study: StudyResults, stream: str) -> None:
    """Draw a line per method, and the true correlation if the stream has it."""
    store = study.streams[stream]
    times = _series.task_times(store)
    panel.axhline(0, color=figure_style.MUTED, lw=0.6)
    if "correlation" in store:
        true = store["correlation"].values
        panel.step(times, true, where="post", color="black", lw=1.2, label="true", zorder=5)
    deciding = _change_lines.deciding(study, "correlation-over-time", every=True)
    ends: dict[str, tuple[Any, float, Any]] = {}
    if "correlation" in store:
        ends["true"] = (times[-1], float(true[-1]), "black")
    for number, method in enumerate(study.methods):
        values = study.by_task(stream, method, METRIC)
        values = values[~np.isnan(values).any(axis=1)]
        style = figure_style.method_style(study, method)
        band = statistics.band(values, statistics.bounds(METRIC))
        ends[study.label(method)] = (times[-1], float(band.mean[-1]), style["color"])
        if method in deciding:  # bands of all would cover each other
            figure_style.draw_spread(panel, times, values, band, style["color"])
        markers = figure_style.marker_positions(number, len(study.methods), len(times))
        panel.plot(
            times, band.mean, **style, lw=1.2, ms=4, markevery=markers, label=study.label(method)
        )
    _change_lines.draw_known(panel, store)
    panel.set_ylabel("predicted correlation")
    panel.margins(x=0.01)
    highlights.name_ends(panel, ends)
