"""Accuracy after the last task, and at the worst moment of each, against rows of memory.

Methods that differ only in the size of their coreset form one line.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy", "acc", "worst_case_acc"))

PANELS = {
    "acc": "after the last task",
    "worst_case_acc": "at the worst moment after each task was learnt",
}
COMBINATOR, SIZE = "coreset", "size"
"""The combinator that has a memory, and its setting for the rows kept of each task."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw two panels per stream. Raises UserError without one of the metrics."""
    _continual.check(study, "memory", ("accuracy", *PANELS))
    canvas = figure_style.figure(3.9 * len(study.streams), caption(study), study.budget())
    for stream, block in _continual.blocks(canvas, study):
        _draw_stream(block, study, stream)
    return canvas


def caption(study: StudyResults) -> str:
    """Describe the lines, the number of runs and the reductions."""
    looks = max(study.run(s, n).sizes.get("look", 1) for s in study.streams for n in study.learners)
    return (
        "Average accuracy over all tasks against the rows of all tasks together that a method"
        " keeps. Left: after the last task. Right: the last task at its end, and each other at the"
        f" worst of {looks} looks a task after it was learnt (WC-ACC). Mean over seeds, bars:"
        f" {statistics.described('acc')}; dashed: methods without such a memory. {study.budget()}"
    )


def lines(study: StudyResults, stream: str) -> dict[str, dict[int, str]]:
    """Return the learners of each line by their rows of memory, by the name of the line.

    A line of one learner has its name; a line of several has what their names begin with.
    """
    found: dict[str, dict[int, str]] = {}
    tasks = study.streams[stream].sizes["task"]
    for learner in study.learners:
        pipeline = provenance.spec(study.run(stream, learner))["learner"]
        sizes = [given[SIZE] for name, given in pipeline if name == COMBINATOR]
        rest = [
            [n, {k: v for k, v in g.items() if (n, k) != (COMBINATOR, SIZE)}] for n, g in pipeline
        ]
        found.setdefault(str(rest) if sizes else learner, {})[tasks * sum(sizes)] = learner
    return {_name([study.label(one) for one in line.values()]): line for line in found.values()}


def _name(labels: list[str]) -> str:
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*labels, strict=False))
    return "".join(letters[0] for letters in same).rstrip(" ,(")


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    by_line = lines(study, stream)
    sizes = sorted({size for line in by_line.values() if len(line) > 1 for size in line})
    panels = block.subplots(1, 2, sharey=True)
    for axes, (metric, text) in zip(panels, PANELS.items(), strict=True):
        for number, (name, line) in enumerate(by_line.items()):
            _draw_line(axes, study, stream, metric, (name, line), sizes, number / len(by_line))
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        axes.set(xlabel="rows of memory", title=f"accuracy {text}", xlim=(-0.3, len(sizes) - 0.6))
        axes.grid(axis="y", color="0.93", lw=0.6)
    panels[0].set_ylabel("average accuracy (%)")
    panels[0].set_ylim(0, 100)
    panels[1].legend(
        *panels[0].get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(1, 1)
    )


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
    if len(line) == 1:
        axes.axhline(band.mean[0], color=style["color"], ls="--", lw=1.2, label=name)
        return
    order = np.argsort([*line])
    x = np.array([sizes.index(size) for size in line])[order] + 0.12 * (place - 0.5)
    bars = figure_style.error_bars(band)[:, order]
    axes.errorbar(x, band.mean[order], yerr=bars, **style, ms=4, elinewidth=1, label=name)
