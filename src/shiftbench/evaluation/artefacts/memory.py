"""Accuracy after the last task, and at the worst moment of each, against rows of memory.

Methods that differ only in the size of their memory form one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring import kept_rows, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy", "acc"))

PANELS = {
    "acc": "after the last task",
    "worst_case_acc": "at the worst moment after each task was learnt",
}
"""Metrics of the panels; the second one is for studies with looks inside a task."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a panel for each metric and stream. Raises UserError without accuracies."""
    _continual.check(study, "memory", ("accuracy", "acc"))
    shown, streams = panels(study), list(study.streams)
    rows = len(streams) if len(shown) > 1 else 1
    canvas = figure_style.figure(3.9 * rows, caption(study), study.basis())
    if len(shown) == 1:
        panels_of = _draw_row(canvas, study, [(stream, "acc", stream) for stream in streams])
        for axes, stream in zip(panels_of, streams, strict=True):
            _continual.scale(axes, "y", _means(study, stream), space=0.08)
        return canvas
    for stream, block in _continual.blocks(canvas, study):
        titles = [(stream, metric, f"accuracy {text}") for metric, text in shown.items()]
        _draw_row(block, study, titles)
    return canvas


def caption(study: StudyResults) -> str:
    """Describe the lines, the number of runs and the reductions."""
    looks = max(study.run(s, n).sizes.get("look", 1) for s in study.streams for n in study.learners)
    moments = "after the last task; vertical: logarithm of the error"
    if len(panels(study)) > 1:
        moments = (
            "Left: after the last task. Right: the last task at its end, and each other at the"
            f" worst of {looks} looks a task after it was learnt (WC-ACC)"
        )
    join = ". " if len(panels(study)) > 1 else ", "
    return (
        "Average accuracy over all tasks against the rows of all tasks together that a method"
        f" keeps{join}{moments}. Mean over seeds, bars:"
        f" {statistics.described('acc')}; dashed: methods without such a memory. {study.basis()}"
    )


def panels(study: StudyResults) -> dict[str, str]:
    """Return the metrics of the panels that the study has, each with its moment in words."""
    return {metric: text for metric, text in PANELS.items() if metric in study.metrics}


def lines(study: StudyResults, stream: str) -> dict[str, dict[int, str]]:
    """Return the learners of each line by their rows of memory, by the name of the line.

    A line of one learner has its name; a line of several has what their names begin with.
    """
    found: dict[str, dict[int, str]] = {}
    # Each size of memory has the settings of its own best trial.
    tried = {key for name in study.learners for key in study.tuned(stream, name) or ()}
    for learner in study.learners:
        run = study.run(stream, learner)
        rows = kept_rows.of_run(run, study.streams[stream]).rows
        sized = kept_rows.has_memory(run)
        line = str(kept_rows.without_size(run, tried)) if sized else learner
        found.setdefault(line, {})[rows] = learner
    return {_name([study.label(one) for one in line.values()]): line for line in found.values()}


def _name(labels: list[str]) -> str:
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*labels, strict=False))
    return "".join(letters[0] for letters in same).rstrip(" ,(")


def _draw_row(
    block: SubFigure | Figure, study: StudyResults, titles: list[tuple[str, str, str]]
) -> Sequence[Axes]:
    """Draw panels side by side, each of a stream and a metric, with its title; return them."""
    one_stream = len({stream for stream, *_ in titles}) == 1
    columns = block.subplots(1, len(titles), sharey=one_stream, squeeze=False)[0]
    for axes, (stream, metric, title) in zip(columns, titles, strict=True):
        by_line = lines(study, stream)
        drawn = [line for line in by_line.values() if not _is_level(study, stream, line)]
        sizes = sorted({size for line in drawn for size in line})
        for number, (name, line) in enumerate(by_line.items()):
            _draw_line(axes, study, stream, metric, (name, line), sizes, number / len(by_line))
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        axes.set(xlabel="rows of memory", title=title, xlim=(-0.3, len(sizes) - 0.6))
        axes.grid(axis="y", color="0.93", lw=0.6)
    columns[0].set_ylabel("average accuracy (%)")
    columns[0].set_ylim(0, 100)
    columns[-1].legend(
        *columns[0].get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(1, 1)
    )
    return columns


def _means(study: StudyResults, stream: str) -> list[float]:
    """Return the mean average accuracy of every learner, in percent."""
    scores = [study.score(stream, learner, "acc") for learner in study.learners]
    return [100 * statistics.interval(values).mean for values in scores]


def _is_level(study: StudyResults, stream: str, line: dict[int, str]) -> bool:
    """Return whether a line is of one method that keeps no rows, or all of them."""
    (learner, *others) = line.values()
    kept = kept_rows.of_run(study.run(stream, learner), study.streams[stream])
    return not others and not kept.partial


def _draw_line(
    axes: Axes,
    study: StudyResults,
    stream: str,
    metric: str,
    named: tuple[str, dict[int, str]],
    sizes: list[int],
    place: float,
) -> None:
    """Draw a line over the sizes of memory, or a level line for a method without memory.

    place: from 0 to 1, shifts the bars of a line, so that those of different lines do not overlap.
    """
    name, line = named
    each = [study.score(stream, learner, metric) for learner in line.values()]
    means = [statistics.interval(values, statistics.bounds(metric)) for values in each]
    band = figure_style.as_band(one.times(100) for one in means)
    style = figure_style.method_style(study, next(iter(line.values())))
    if _is_level(study, stream, line):
        axes.axhline(band.mean[0], color=style["color"], ls="--", lw=1.2, label=name)
        return
    order = np.argsort([*line])
    x = np.array([sizes.index(size) for size in line])[order] + 0.12 * (place - 0.5)
    bars = figure_style.error_bars(band)[:, order]
    axes.errorbar(x, band.mean[order], yerr=bars, **style, ms=4, elinewidth=1, label=name)
