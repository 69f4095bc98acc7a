"""Average accuracy over the tasks so far, against their number (eschenhagen2019vogn, Fig. 3).

Each method has a panel with the others in grey: up to sixteen curves, many of them within a few
points, cannot be distinguished by colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _continual, _figure_parts, _leaders
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy",))

PERCENT = (0.0, 100.0)


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a block per stream with a panel per method. Raises UserError without accuracies."""
    _continual.check(study, "tasks-learnt")
    rows = _continual.rows(len(study.methods), _continual.columns_of_methods(study))
    height = 0.75 + 1.45 * rows
    return _figure_parts.draw_blocks(study, height, _leaders.message, _foot(study), _draw_stream)


def caption(study: StudyResults) -> str:
    """Say who is best, describe the figure, the number of runs and the reductions."""
    return _leaders.messages(study) + _foot(study)


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    spread = figure_style.spread_note(study, statistics.described(_continual.METRIC))
    return (
        f"Average accuracy over the tasks so far, after each task: mean over seeds, {spread}; "
        f"vertical: {_continual.scale_note(study)}; "
        f"grey: the other methods; number: mean after the last task"
        f"{_continual.diamonds(study)}. "
        f"{_continual.from_scratch(study)}{study.basis()}"
    )


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    percent = {name: 100 * _continual.so_far(study, stream, name) for name in study.methods}
    bands = {name: statistics.band(values, PERCENT) for name, values in percent.items()}
    paper = _continual.published_averages(study, stream)
    panels = _continual.panels(block, len(bands), _continual.columns_of_methods(study))
    labels = [study.label(name) for name in bands]
    size = _continual.title_size(panels, labels)
    for axes, name in zip(panels, bands, strict=True):
        for other in bands.values():
            axes.plot(*_points(other), color="0.85", lw=0.8, zorder=1)
        style = figure_style.method_style(study, name) | {"ls": "-"}
        _draw_method(axes, bands[name], style)
        tasks, _ = _points(bands[name])
        figure_style.draw_spread(axes, tasks, percent[name], bands[name], style["color"], 0.2)
        if name in paper:
            last = len(bands[name].mean)
            axes.plot(last, paper[name], **_continual.PAPER, ms=5, zorder=4, clip_on=False)
        axes.set_title(study.label(name), fontweight="bold", size=size)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("accuracy (%)")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    shown = np.concatenate([*_covered(percent, bands), [*paper.values()]])
    _continual.scale(panels[0], "y", shown, space=0.15, linear=_continual.is_linear(study))
    block.supxlabel("number of tasks learnt", size=9)


def _covered(
    percent: dict[str, np.ndarray], bands: dict[str, statistics.Band]
) -> Iterator[np.ndarray]:
    """Yield what the axis has to cover of each method: its seeds, or its band."""
    for name, band in bands.items():
        yield figure_style.visible_values(percent[name], band).ravel()
        if len(percent[name]) >= figure_style.FEWEST_OF_BAND:
            yield from (band.low, band.high)


def _points(band: statistics.Band) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, len(band.mean) + 1), band.mean


def _draw_method(axes: Axes, band: statistics.Band, style: dict[str, Any]) -> None:
    tasks, mean = _points(band)
    axes.plot(tasks, mean, **style, ms=3, lw=1.4, zorder=3, clip_on=False)
    # Beside the title, where no curve can be.
    axes.annotate(
        "failed" if np.isnan(mean[-1]) else f"{mean[-1]:.1f}",
        (1, 1),
        (0, rcParams["axes.titlepad"]),
        textcoords="offset points",
        xycoords="axes fraction",
        color=highlights.readable(style["color"]),
        size=8,
        fontweight="bold",
        ha="right",
    )
