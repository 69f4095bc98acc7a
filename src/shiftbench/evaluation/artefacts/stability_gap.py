"""Accuracy on the tasks learnt before, while the next one is learnt (delange2023stability, Fig. 2).

Each method has a panel, with the others in grey. Scores at the ends of tasks alone would not show
a drop that recovers within the task.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _continual, _figure_parts
from shiftbench.evaluation.metrics import anytime
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

GAP = "stability_gap"
FACTS = Facts(requires=("earlier-tests",), uses=("accuracy", GAP))

PERCENT = (0.0, 100.0)


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a block per stream with a panel per method. Raises UserError without accuracies."""
    _continual.check(study, "stability-gap", ("accuracy", GAP))
    rows = _continual.rows(len(study.methods), _continual.columns_of_methods(study))
    height = 0.75 + 1.5 * rows
    return _figure_parts.draw_blocks(study, height, message, _foot(study), _draw_stream)


def caption(study: StudyResults) -> str:
    """Say whose gap is smallest, describe the lines, the number of runs and the reductions."""
    return _figure_parts.message_and_foot(study, message, _foot(study))


def message(study: StudyResults, stream: str) -> str:
    """Say which method, of all but bounds, has the smallest stability gap."""
    scores = {name: 100 * study.score(stream, name, GAP) for name in study.methods}
    gaps = _best.means(study, scores)
    order = highlights.leaders({name: -gap for name, gap in gaps.items()}, len(gaps))
    if not order:
        return f"{stream}: no method has a stability gap"
    points, label = f"{gaps[order[0]]:.1f} points", study.label(order[0])
    if len(order) == 1:
        return f"{stream}: {label} has a stability gap of {points}"
    others = _best.others(study, scores, order[:1], lower=True)
    leads = f"{stream}: {label} has the smallest stability gap of {len(order)} methods, {points}"
    return f"{leads}{others}"


def _gap(study: StudyResults, stream: str, method: str) -> float:
    """Return the mean stability gap of a method in percentage points; NaN if all seeds failed."""
    return statistics.interval(100 * study.score(stream, method, GAP)).mean


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    spread = figure_style.spread_note(study, statistics.described("accuracy"))
    return (
        "Average accuracy on the tasks learnt before, at looks while the next task is learnt: mean"
        f" over seeds, {spread}. Dots: ends of tasks, which is all that an evaluation after each"
        " task shows. Grey: the other methods. Number: the drop at the worst look, mean over tasks"
        f" (stability gap, in points). {study.basis()}"
    )


def of_earlier_tasks(looks: np.ndarray) -> list[np.ndarray]:
    """Return the mean accuracy on earlier tasks at the looks inside each task but the first.

    looks [seed, task, look, task] -> one array [seed, 1 + looks] a task; its first value is at the
    end of the task before.
    """
    return [
        np.hstack([looks[:, t - 1, -1:, :t], looks[:, t, :, :t]]).mean(axis=2)
        for t in range(1, looks.shape[1])
    ]


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    values = {
        name: of_earlier_tasks(100 * anytime.looks(study.run(stream, name)))
        for name in study.methods
    }
    bands = {name: [statistics.band(one, PERCENT) for one in each] for name, each in values.items()}
    panels = _continual.panels(block, len(values), _continual.columns_of_methods(study))
    size = _continual.title_size(panels, [study.label(name) for name in values])
    for axes, name in zip(panels, values, strict=True):
        for other in bands.values():
            for t, band in enumerate(other):
                axes.plot(_positions(t, band.mean), band.mean, color="0.85", lw=0.8, zorder=1)
        colour = figure_style.method_style(study, name)["color"]
        for t, (one, band) in enumerate(zip(values[name], bands[name], strict=True)):
            x = _positions(t, band.mean)
            axes.plot(x, band.mean, color=colour, lw=1.4, zorder=3)
            axes.plot(x[-1], band.mean[-1], "o", color=colour, ms=3, zorder=3)
            figure_style.draw_spread(axes, x, one, band, colour, 0.2)
        axes.set_title(study.label(name), fontweight="bold", size=size)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        _write_gap(axes, _gap(study, stream, name), colour)
    panels[0].set_ylim(0, 100)
    block.supxlabel("tasks learnt", size=9)
    for axes in panels:
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("accuracy on\nearlier tasks (%)")


def _positions(t: int, values: np.ndarray) -> np.ndarray:
    """Return the positions in the stream of the looks inside the task that follows task t."""
    return np.linspace(t + 1, t + 2, len(values))


def _write_gap(axes: Axes, gap: float, colour: object) -> None:
    """Write the mean stability gap of a method above its panel, at the right."""
    text = "failed" if np.isnan(gap) else f"{gap:.1f}"
    axes.set_title(text, loc="right", size=8, color=highlights.readable(colour))
