"""The accuracy matrix of each learner: on which tasks it is right, after which.

A row a task learnt last, a column a task it is judged on (eschenhagen2019vogn, 4.1). Down a column
one sees what is forgotten; on the diagonal what is learnt.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
USES = ("accuracy",)
REQUIRES = ("earlier-tests",)

COLOURS = "viridis"
NUMBERED = 6
"""Cells hold numbers for at most so many tasks; more would be too small to read."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, one block a stream, one map a learner; UserError without the accuracies."""
    _continual.check(study, "accuracy-matrix")
    rows = -(-len(study.learners) // _continual.COLUMNS)
    drawn = figure_style.figure(
        (0.35 + 2.0 * rows) * len(study.streams), caption(study), study.budget()
    )
    for stream, block in _continual.blocks(drawn, study):
        _draw_stream(block, study, stream)
    return drawn


def caption(study: StudyResults) -> str:
    """What the figure shows, on how many runs, and what is cut."""
    return (
        "Accuracy (%) on the test data of each task (column) after each task (row), mean over "
        "seeds; one scale for all learners of a stream, the logarithm of the error. Learners that "
        f"start each task from scratch know nothing of those before. {study.budget()}"
    )


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    panels = _continual.panels(block, len(study.learners))
    means = [_mean(_continual.matrix(study, stream, name)) for name in study.learners]
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    norm = FuncNorm((_continual.to_scale, _continual.from_scale), low, high)
    for axes, name, values in zip(panels, study.learners, means, strict=True):
        shown = _draw_map(axes, values, norm)
        axes.set_title(study.label(name), size=7.5)
    block.supxlabel("judged on task", size=9)
    block.supylabel("after task", size=9)
    scale = block.colorbar(shown, ax=panels, shrink=0.8, pad=0.01, aspect=30)
    rows = -(-len(panels) // _continual.COLUMNS)
    chosen = _continual.ticks(low, high, space=0.15 / rows)
    scale.set_ticks(chosen, labels=[f"{tick:g}" for tick in chosen])
    scale.set_label("accuracy (%)")
    scale.outline.set_visible(False)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over seeds of A [seed, task, task]; NaN where there are no seeds."""
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)


def _draw_map(axes: Axes, values: np.ndarray, norm: FuncNorm) -> AxesImage:
    tasks = len(values)
    reach = (0.5, tasks + 0.5, tasks + 0.5, 0.5)
    shown = axes.imshow(values, COLOURS, norm=norm, extent=reach)
    labels = np.arange(1, tasks + 1) if tasks <= NUMBERED else np.arange(1, tasks + 1, 3)
    axes.set_xticks(labels)
    axes.set_yticks(labels)
    axes.tick_params(length=2)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    if tasks <= NUMBERED:
        for t, j in zip(*np.nonzero(~np.isnan(values)), strict=True):
            dark = norm(values[t, j]) < 0.5
            words = f"{values[t, j]:.0f}"
            colour = "white" if dark else "black"
            axes.text(j + 1, t + 1, words, size=6.5, color=colour, ha="center", va="center")
    return shown
