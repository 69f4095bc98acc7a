"""Accuracy matrix of each method: its accuracy on each task after each task.

As in eschenhagen2019vogn, 4.1: rows are the task learnt last, columns the task tested. A column
shows forgetting, the diagonal learning.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual, _figure_parts, _leaders
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy",))

COLOURS = "viridis"
NUMBERED = 6
"""Largest number of tasks with numbers in the cells; more would be too small to read."""
PRECISE = 94.5
"""Accuracy (%) from which numbers have a decimal: equal ones would differ in colour."""
WHOLE, HEIGHT, TEXTS = 9.4, 2.9, 0.4
"""Width of all maps beside each other, largest height of a row, and of its texts, in inches."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream with a map per method. Raises UserError without accuracies."""
    _continual.check(study, "accuracy-matrix")
    height = 0.35 + _height(len(study.methods))
    return _figure_parts.draw_blocks(study, height, _leaders.message, _foot(study), _draw_stream)


def caption(study: StudyResults) -> str:
    """Say who is best, describe the figure, the number of runs and the reductions."""
    return _leaders.messages(study) + _foot(study)


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        "Accuracy (%) on the test data of each task (column) after each task (row), mean over "
        f"seeds; one scale for all methods of a stream, {_continual.scale_note(study)}. "
        f"{_continual.from_scratch_note(study)}{study.basis()}"
    )


def _height(maps: int) -> float:
    """Return the height of the rows of maps in inches: few maps beside each other are larger."""
    rows = _continual.rows(maps)
    return rows * min(HEIGHT, WHOLE / math.ceil(maps / rows) + TEXTS)


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    panels = _continual.panels(block, len(study.methods))
    matrices = [_continual.matrix(study, stream, name) for name in study.methods]
    means = [_continual.mean_over_seeds(values) for values in matrices]
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    linear = _continual.is_linear(study)
    norm = (
        Normalize(low, high)
        if linear
        else FuncNorm((_continual.to_scale, _continual.from_scale), low, high)
    )
    for axes, name, values in zip(panels, study.methods, means, strict=True):
        image = _draw_map(axes, values, norm)
        axes.set_title(study.label(name), size=7.5)
        if axes.get_subplotspec().is_first_col():  # maps may stand far from the edge
            axes.set_ylabel("after task")
    block.supxlabel("judged on task", size=9)
    scale = block.colorbar(image, ax=panels, shrink=0.8, pad=0.01, aspect=30)
    if not linear:
        ticks = _continual.ticks(low, high, space=0.15 / _continual.rows(len(panels)))
        scale.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    scale.set_label("accuracy (%)")
    scale.outline.set_visible(False)


def _draw_map(axes: Axes, values: np.ndarray, norm: Normalize) -> AxesImage:
    tasks = len(values)
    extent = (0.5, tasks + 0.5, tasks + 0.5, 0.5)
    image = axes.imshow(values, COLOURS, norm=norm, extent=extent)
    labels = np.arange(1, tasks + 1) if tasks <= NUMBERED else np.arange(1, tasks + 1, 3)
    axes.set_xticks(labels)
    axes.set_yticks(labels)
    axes.tick_params(length=2)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    if tasks <= NUMBERED:
        for t, j in zip(*np.nonzero(~np.isnan(values)), strict=True):
            dark = norm(values[t, j]) < 0.5
            number, colour = _number(values[t, j]), "white" if dark else "black"
            axes.text(j + 1, t + 1, number, size=6.5, color=colour, ha="center", va="center")
    return image


def _number(percent: float) -> str:
    """Return an accuracy as text for its cell; from `_continual.BEST` on it is 100."""
    return f"{percent:.{int(PRECISE <= percent < _continual.BEST)}f}"
