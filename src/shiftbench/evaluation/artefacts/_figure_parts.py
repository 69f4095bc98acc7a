"""Parts that several figures share: captions, a block for each stream, and a scale of colours."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure, SubFigure

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults

Message = Callable[[StudyResults, str], str]
"""Function that returns the message of a figure about one stream of a study."""


def message_and_foot(study: StudyResults, message: Message, foot: str) -> str:
    """Return a caption: the message of each stream as a sentence, and the foot of the figure."""
    return f"{'. '.join(message(study, stream) for stream in study.streams)}. {foot}"


def draw_blocks(
    study: StudyResults,
    height: float,
    message: Message,
    foot: str,
    draw_stream: Callable[[SubFigure, StudyResults, str], None],
) -> Figure:
    """Draw a block for each stream, of a height in inches, below its message."""
    figure = figure_style.figure(height * len(study.streams), foot, study.basis())
    for stream, block in figure_style.divide(figure, study.streams):
        figure_style.set_message(block, message(study, stream))
        draw_stream(block, study, stream)
    return figure


def draw_share_scale(axes: Axes, shares: ScalarMappable) -> None:
    """Draw the scale of the colours of shares, from 0 to 100 %, beside their panel."""
    scale = axes.figure.colorbar(shares, cax=axes.inset_axes((1.01, 0, 0.012, 1)), ticks=[0, 1])
    scale.ax.set_yticklabels(["0 %", "100 %"])
    scale.outline.set_visible(False)
