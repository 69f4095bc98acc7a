"""Dependence of methods on their settings: scores of the same random configurations.

First, the share of configurations that reach each score (farquhar2020radial, Fig. 4); then, for
each random setting, the scores of the configurations with each of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import components, metric_words
from shiftbench.config.compatibility_words import listed
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _figure_parts
from shiftbench.evaluation.scoring import units
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(study=("configurations",))

COLUMNS, MANY = 4, 7
"""Number of panels beside each other in figures of so many panels: none is alone in its row."""
LEGEND = 0.3
"""Height of the legend, in inches."""
WIDTH_OF_VALUE = 0.7
"""Width of the points at one value of a setting, as a share of the distance between values."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw rows of panels per stream. Raises UserError without configurations."""
    if not study.configurations:
        raise study.lacking("robustness", "configurations")
    names = settings(study.configurations)
    columns = COLUMNS if len(names) + 1 >= MANY else figure_style.COLUMNS
    rows = -(-(1 + len(names)) // columns)
    heights = [2.4 * rows + figure_style.MESSAGE] * len(study.streams)
    heights[0] += LEGEND  # which all streams share
    first = next(iter(study.streams))
    figure = figure_style.figure(sum(heights), _foot(study), study.basis())
    letters = iter(figure_style.panel_letters(len(study.streams) * (1 + len(names))))
    for stream, block in figure_style.divide(figure, study.streams, heights):
        below = figure_style.below_message(block, message(study, stream))
        own = below.subplots(rows, columns, squeeze=False).ravel()
        _draw_shares(own[0], study, stream)
        figure_style.set_title(own[0], next(letters), "share of configurations at least as good")
        for panel, name in zip(own[1:], names, strict=False):
            _draw_setting(panel, study, stream, name)
            figure_style.set_title(panel, next(letters), name.partition(".")[2].replace("_", " "))
        for panel in own[1 + len(names) :]:
            panel.set_axis_off()
        if stream == first:
            figure_style.shared_legend(below, own[0])
    return figure


def caption(study: StudyResults) -> str:
    """Say which score half of the configurations reach, describe the points, runs and cuts."""
    return _figure_parts.message_and_foot(study, message, _foot(study))


def message(study: StudyResults, stream: str) -> str:
    """Say which score half of all configurations reach with each method, best first."""
    metric = study.metrics[0]
    start = f"{stream}, {metric_words.words(metric)}"
    factor, percent = units.factor(metric), " %" * (units.factor(metric) > 1)
    methods = [name for name in study.methods if name not in study.bounds]
    halves = {name: _half(study, stream, name) for name in methods}
    sign = 1 if components.metric(metric).higher_is_better else -1
    order = highlights.leaders({name: sign * half for name, half in halves.items()}, len(halves))
    if not order:
        return f"{start}: no method has a score with half of all configurations"
    shown = order[: highlights.MOST]
    reached = listed(
        f"{_best.number(factor * halves[name])}{percent} with {study.label(name)}" for name in shown
    )
    others = f" (the best {len(shown)} of {len(order)} methods)" if len(order) > len(shown) else ""
    failed = listed([study.label(name) for name in methods if name not in order] or [""])
    lacking = f"; fewer than half have a score with {failed}" if failed else ""
    return f"{start}: half of all configurations reach {reached}{others}{lacking}"


def _half(study: StudyResults, stream: str, method: str) -> float:
    """Return the best score that half of all configurations reach; NaN if too many failed."""
    metric = study.metrics[0]
    better = bool(components.metric(metric).higher_is_better)
    score, share = shares(study.score(stream, method, metric), better)
    return next((float(one) for one, part in zip(score, share, strict=True) if part >= 0.5), np.nan)


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        f"Each configuration is one random choice of all settings, the same for every method; the "
        f"score is {metric_words.words(study.metrics[0])}. Failed runs count as worse than all "
        "others. Other panels: "
        f"each point a configuration, the line the median. {study.basis()}"
    )


def settings(configurations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the random settings, as component.key, in the order of their first occurrence.

    Settings of several components with the same key count once.
    """
    names: dict[str, str] = {}
    for point in configurations:
        for key in point:
            names.setdefault(key.partition(".")[2], key)
    return list(names.values())


def shares(scores: np.ndarray, higher_is_better: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, the best first, and the share of configurations at least as good.

    scores: [seed]. A failed run (NaN) has no score, but counts as a configuration.
    """
    finite = np.sort(scores[~np.isnan(scores)])
    ordered = finite[::-1] if higher_is_better else finite
    return ordered, np.arange(1, len(ordered) + 1) / len(scores)


def _draw_shares(panel: Axes, study: StudyResults, stream: str) -> None:
    metric = study.metrics[0]
    better = components.metric(metric).higher_is_better
    for method in study.methods:
        score, share = shares(study.score(stream, method, metric), better)
        style = figure_style.method_style(study, method) | {"marker": None}
        panel.step(
            units.factor(metric) * score,
            100 * share,
            where="post",
            label=study.label(method),
            **style,
        )
    panel.set_ylim(0, 102)
    panel.set_xlabel(units.label(metric))
    panel.set_ylabel("configurations (%)")


def _draw_setting(panel: Axes, study: StudyResults, stream: str, name: str) -> None:
    of_configurations = [_value(point, name) for point in study.configurations]
    values = sorted({value for value in of_configurations if value is not None}, key=_sort_key)
    width = WIDTH_OF_VALUE / len(study.methods)
    for number, method in enumerate(study.methods):
        scores = units.factor(study.metrics[0]) * study.score(stream, method, study.metrics[0])
        style = figure_style.method_style(study, method)
        for column, value in enumerate(values):
            at_value = scores[[each == value for each in of_configurations]]
            at_value = at_value[~np.isnan(at_value)]
            x = column + (number - (len(study.methods) - 1) / 2) * width
            x_all = np.full(len(at_value), x)
            panel.plot(x_all, at_value, ls="", ms=3.5, alpha=0.7, mew=0, **style)
            if len(at_value):
                median, half = np.median(at_value), 0.4 * width
                panel.plot([x - half, x + half], [median, median], color=style["color"], lw=2.2)
    panel.set_xticks(range(len(values)), [_text(value) for value in values])
    panel.set_xlim(-0.6, len(values) - 0.4)
    panel.set_ylabel(units.label(study.metrics[0]))


def _value(point: Mapping[str, Any], name: str) -> Any:
    """Return the value of a setting in a configuration, of any component; None without it."""
    key = name.partition(".")[2]
    return next((value for other, value in point.items() if other.partition(".")[2] == key), None)


def _sort_key(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value if isinstance(value, int | float | str) else str(value)


def _text(value: Any) -> str:
    """Return the value of a setting as tick label: fractions to two digits, as 0.0025."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.2g}"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
