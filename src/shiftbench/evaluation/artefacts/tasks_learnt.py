"""Average accuracy over the tasks so far, against how many there are.

Fig. 3 of eschenhagen2019vogn. Each learner has a panel with the others in grey: up to sixteen
curves, many of them within a few points, are not told apart by colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
USES = ("accuracy",)
REQUIRES = ("earlier-tests",)

PERCENT = (0.0, 100.0)
TITLE, FITTING = 8.5, 16
"""Size of a panel's title, and the characters that fit beside its number; longer ones shrink."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, one block a stream, one panel a learner; UserError without the accuracies."""
    _continual.check(study, "tasks-learnt")
    rows = -(-len(study.learners) // _continual.COLUMNS)
    height = 0.35 + 1.45 * rows
    drawn = figure_style.figure(height * len(study.streams), caption(study), study.budget())
    for stream, block in _continual.blocks(drawn, study):
        _draw_stream(block, study, stream)
    return drawn


def caption(study: StudyResults) -> str:
    """What the figure shows, on how many runs, and what is cut."""
    spread = figure_style.spread_told(study, statistics.described(_continual.METRIC))
    return (
        f"Average accuracy over the tasks so far, after each task: mean over seeds, {spread}; "
        "vertical: logarithm of the error; "
        f"grey: the other learners; number: mean after the last task"
        f"{_continual.diamonds(study)}. "
        f"{_continual.from_scratch(study)}{study.budget()}"
    )


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    percent = {name: 100 * _continual.so_far(study, stream, name) for name in study.learners}
    bands = {name: statistics.band(values, PERCENT) for name, values in percent.items()}
    paper = _continual.published_averages(study, stream)
    panels = _continual.panels(block, len(bands))
    for axes, name in zip(panels, bands, strict=True):
        for other in bands.values():
            axes.plot(*_points(other), color="0.85", lw=0.8, zorder=1)
        look = figure_style.look(study, name) | {"ls": "-"}
        _draw_learner(axes, bands[name], look)
        tasks, _ = _points(bands[name])
        figure_style.spread(axes, tasks, percent[name], bands[name], look["color"], 0.2)
        if name in paper:
            axes.plot(len(bands[name].mean), paper[name], **_continual.PAPER, ms=5, zorder=4)
        label = study.label(name)
        size = TITLE * min(1.0, FITTING / len(label))
        axes.set_title(label, fontweight="bold", size=size)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ours = [figure_style.shown(percent[name], band).ravel() for name, band in bands.items()]
    _continual.scale(panels[0], "y", np.concatenate([*ours, [*paper.values()]]), space=0.15)
    block.supxlabel("number of tasks learnt", size=9)
    block.supylabel("accuracy (%)", size=9)


def _points(band: statistics.Band) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, len(band.mean) + 1), band.mean


def _draw_learner(axes: Axes, band: statistics.Band, look: dict[str, Any]) -> None:
    tasks, mean = _points(band)
    axes.plot(tasks, mean, **look, ms=3, lw=1.4, zorder=3)
    # Beside the title, where no curve can be.
    axes.annotate(
        "failed" if np.isnan(mean[-1]) else f"{mean[-1]:.1f}",
        (1, 1),
        (0, rcParams["axes.titlepad"]),
        textcoords="offset points",
        xycoords="axes fraction",
        color=look["color"],
        size=8,
        fontweight="bold",
        ha="right",
    )
