"""Accuracy after the last task, and at the worst moment of each, against rows of memory.

Methods that differ only in the size of their memory form one line.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _continual, _figure_parts, _leaders
from shiftbench.evaluation.scoring import kept_rows, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy", "acc"))

PANELS = {
    "acc": "after the last task",
    "worst_case_acc": "at the worst moment after each task was learnt",
}
"""Metrics of the panels; the second one is for studies with looks inside a task."""
LEVEL = {True: "--", False: ":"}
"""Style of a level line by whether it is ranked."""
MARGIN, SPREAD = 0.3, 0.2
"""Room beside the sizes of memory, and range of the shifts that keep bars from hiding each other;
the distance of two sizes is 1."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a panel for each metric and stream. Raises UserError without accuracies."""
    _continual.check(study, "memory", ("accuracy", "acc"))
    shown, streams = panels(study), list(study.streams)
    rows = len(streams) if len(shown) > 1 else 1
    canvas = figure_style.figure((figure_style.MESSAGE + 3.6) * rows, _foot(study), study.basis())
    blocks = canvas.subfigures(rows, len(streams) // rows, squeeze=False).ravel()
    for stream, block in zip(streams, blocks, strict=True):
        figure_style.set_message(block, message(study, stream))
        _draw_stream(block, study, stream, shown)
    return canvas


def caption(study: StudyResults) -> str:
    """Say what leads, describe the lines, the number of runs and the reductions."""
    return _figure_parts.message_and_foot(study, message, _foot(study))


def message(study: StudyResults, stream: str) -> str:
    """Say which method has the largest average accuracy, comparing each at its largest memory."""
    found = {name: line for name, line in lines(study, stream).items() if line.ranked}
    means = {name: line.means(study, stream, "acc")[-1].mean for name, line in found.items()}
    order = highlights.leaders(means, len(means))
    if not order:
        return f"{stream}: no method has an accuracy"
    best = order[0]
    rows = 0 if found[best].is_level else max(found[best].sizes.values())
    kept = f"with {rows:,} rows of memory" if rows else "without a memory"
    said = _leaders.said(f"{stream}: {kept}, {best}", len(order), means[best])
    largest = {name: [*line.sizes][-1] for name, line in found.items()}
    scores = {name: study.score(stream, name, "acc") for name in largest.values()}
    others = _best.others(study, scores, [largest[best]])
    return f"{said}{_leaders.reference(study, stream)}{others}"


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    looks = max(study.run(s, n).sizes.get("look", 1) for s in study.streams for n in study.methods)
    moments = "after the last task"
    if len(panels(study)) > 1:
        moments = (
            "left after the last task; right the last task at its end, and each other at the worst"
            f" of {looks} looks a task after it was learnt (WC-ACC)"
        )
    return (
        "Average accuracy over all tasks against the rows of all tasks together that a method"
        f" keeps, {moments}; vertical: logarithm of the error. Mean over seeds, bars:"
        f" {statistics.described('acc')}. {_styles(study)}{study.basis()}"
    )


def _styles(study: StudyResults) -> str:
    """Return the sentence on the styles of lines that are drawn, with a space; may be empty."""
    of_streams = [list(lines(study, stream).values()) for stream in study.streams]
    every = [line for of_stream in of_streams for line in of_stream]
    many = max(sum(line.ranked for line in each) for each in of_streams) > highlights.MOST
    said = []
    if any(line.is_level and line.ranked for line in every):
        said.append("dashed: methods without such a memory")
    if any(line.is_level and not line.ranked for line in every):
        said.append("dotted: bounds, which see more rows")
    if many:
        said.append(
            f"in colour: the {highlights.MOST} most accurate, each with its largest memory;"
            " grey: the others"
        )
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}. " if text else ""


def panels(study: StudyResults) -> dict[str, str]:
    """Return the metrics of the panels that the study has, each with its moment in words."""
    return {metric: text for metric, text in PANELS.items() if metric in study.metrics}


class Line(NamedTuple):
    """Methods that differ only in the size of their memory.

    sizes: the rows of memory of each method, in ascending order, equal where two methods keep all
    rows that they can; is_level: whether it is one method that keeps no rows or all; ranked:
    whether it is no bound.
    """

    sizes: dict[str, int]
    is_level: bool
    ranked: bool

    @property
    def first(self) -> str:
        """Return the method with the smallest memory."""
        return next(iter(self.sizes))

    def means(self, study: StudyResults, stream: str, metric: str) -> list[statistics.Interval]:
        """Return the mean of each method over seeds, in percent, with its interval."""
        each = [study.score(stream, method, metric) for method in self.sizes]
        return [statistics.interval(one, statistics.bounds(metric)).times(100) for one in each]


def lines(study: StudyResults, stream: str) -> dict[str, Line]:
    """Return the lines of a stream by name.

    A line of one method has its name; a line of several has what their names begin with.
    """
    found: dict[str, dict[str, int]] = {}
    # Each size of memory has the settings of its own best trial.
    tried = {key for name in study.methods for key in study.tuned(stream, name) or ()}
    for method in study.methods:
        run = study.run(stream, method)
        rows = kept_rows.of_run(run, study.streams[stream]).rows
        line = str(kept_rows.without_size(run, tried)) if kept_rows.has_memory(run) else method
        found.setdefault(line, {})[method] = rows
    return {
        _name([study.label(one) for one in sizes]): Line(
            dict(sorted(sizes.items(), key=lambda item: item[1])),
            _is_level(study, stream, [*sizes]),
            not {*sizes} & {*study.bounds},
        )
        for sizes in found.values()
    }


def _name(labels: list[str]) -> str:
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*labels, strict=False))
    return "".join(letters[0] for letters in same).rstrip(" ,(")


def _is_level(study: StudyResults, stream: str, methods: list[str]) -> bool:
    """Return whether a line is of one method that keeps no rows, or all of them."""
    (method, *others) = methods
    kept = kept_rows.of_run(study.run(stream, method), study.streams[stream])
    return not others and not kept.partial


def _draw_stream(block: SubFigure, study: StudyResults, stream: str, shown: dict[str, str]) -> None:
    """Draw the panel of each metric, side by side; names stand beside the last one."""
    found = lines(study, stream)
    ends = {
        line.first: line.means(study, stream, "acc")[-1].mean
        for line in found.values()
        if line.ranked
    }
    coloured = highlights.leaders(ends)
    columns = block.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    covered: list[float] = []
    for axes, (metric, text) in zip(columns, shown.items(), strict=True):
        means = {name: line.means(study, stream, metric) for name, line in found.items()}
        named = _draw_panel(axes, study, found, means, coloured)
        covered += [one.mean for each in means.values() for one in each]
        axes.set_xlabel("rows of memory")
        if len(shown) > 1:
            figure_style.set_title(axes, "", f"accuracy {text}")
    _continual.scale(columns[0], "y", covered, space=0.08)
    highlights.name_ends(columns[-1], named)
    columns[0].set_ylabel("average accuracy (%)")


def _draw_panel(
    axes: Axes,
    study: StudyResults,
    found: dict[str, Line],
    means: dict[str, list[statistics.Interval]],
    coloured: list[str],
) -> dict[str, tuple[float, float, Any]]:
    """Draw all lines of a panel; return the end and the colour of each that gets its name.

    means: of each line, by rows of memory. coloured: the first method of each line in colour.
    """
    rows = sorted(
        {size for line in found.values() if not line.is_level for size in line.sizes.values()}
    )
    right = len(rows) - 1 + MARGIN
    named: dict[str, tuple[float, float, Any]] = {}
    for name, line in found.items():
        style = highlights.style(study, line.first, coloured)
        if not line.ranked:
            style |= {"color": figure_style.INK}
        band = figure_style.as_band(means[name])
        is_shown = line.first in coloured or not line.ranked
        if line.is_level:
            axes.axhline(band.mean[0], color=style["color"], ls=LEVEL[line.ranked], lw=1.2)
            end = right, band.mean[0]
        else:
            x = np.array([rows.index(size) for size in line.sizes.values()], float)
            if line.first in coloured:
                x += SPREAD * highlights.shift(line.first, coloured)
                bars = {"yerr": figure_style.error_bars(band), "elinewidth": 1}
            else:
                bars, style["marker"] = {}, "."
            axes.errorbar(x, band.mean, **bars, **style, ms=4, lw=1.4)
            end = x[-1], band.mean[-1]
        if is_shown and not np.isnan(end[1]):
            named[name] = (*end, style["color"])
    axes.set_xticks(range(len(rows)), [f"{size:,}" for size in rows])
    axes.set_xlim(-MARGIN, right)
    axes.grid(axis="y", color="0.93", lw=0.6)
    return named
