"""Common style and layout of all figures."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import matplotlib
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.text import Text

from shiftbench.config import bibliography
from shiftbench.evaluation import text_fitting
from shiftbench.evaluation.scoring.caption_notes import Basis
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Band, Interval

T = TypeVar("T")

PALETTE: tuple[tuple[float, float, float], ...] = tuple(sns.color_palette("colorblind"))
"""Ten colours that remain distinct under colour-vision deficiency."""
COLOURS = dict(
    zip(
        ("blue", "orange", "green", "red", "purple", "brown", "pink", "grey", "yellow", "sky"),
        PALETTE,
        strict=True,
    )
)
MARKERS = "osD^vPX"
INK = "0.15"
MUTED = "0.45"

WIDTH = 11.0
"""Width of a figure in inches."""
COLUMNS = 3
"""Largest number of panels beside each other."""
DPI = 150
LEFT = 0.008
"""Left edge of the caption, as a share of the width."""
FOOT_MARGIN = 0.06
"""Free space above and below the caption, in inches."""
MARKS = 7
"""Number of markers on a long line."""
FEWEST_OF_BAND = 4
"""Number of seeds from which an interval is drawn; with fewer, each seed is drawn."""
MESSAGE = 0.3
"""Height of a message, in inches."""
THOUSANDS = "{x:,g}"
"""Format of numbers on axes that reach thousands."""
OWN_MATH = "$\\"
"""Beginning of our formulas. Any other dollar sign belongs to a user's text."""

RC = {
    "figure.dpi": DPI,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    # Names of clip paths and glyphs in an SVG are otherwise random.
    "svg.hashsalt": "shiftbench",
}

styled: Callable[[Callable[..., Any]], Callable[..., Any]] = matplotlib.rc_context(RC)  # type: ignore[arg-type]
"""Decorator for functions that draw or save: applies the settings above."""


def figure(height: float, caption: str, basis: str = "") -> Figure:
    """Return an empty figure with its caption at the bottom.

    Parameters
    ----------
    height
        Height without the caption, in inches; the caption makes the figure higher.
    caption
        Text below the panels, wrapped to as many lines as it needs.
    basis
        The end of the caption, on coverage and reductions, which begins a line of its own. Of
        `StudyResults.basis`, only the brief form is drawn.
    """
    canvas = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(canvas)
    description = caption.removesuffix(basis).strip() if basis else ""
    end = basis.brief if isinstance(basis, Basis) else basis
    text = f"{description}\n{end}" if description else end or caption
    foot = canvas.text(LEFT, 0, text, size=7.5, color=MUTED, va="bottom", parse_math=False)
    text_fitting.wrap(foot, (1 - 2 * LEFT) * canvas.bbox.width)
    margin = math.ceil(foot.get_window_extent().height) / DPI + 2 * FOOT_MARGIN if caption else 0.0
    canvas.set_size_inches(WIDTH, height + margin)
    foot.set_y(FOOT_MARGIN / (height + margin))
    share = margin / (height + margin)
    canvas.set_layout_engine("constrained", rect=(0, share, 1, 1 - share))
    return canvas


def method_style(study: StudyResults, method: str) -> dict[str, Any]:
    """Return colour and marker of a method, as the study sets them or else by its position."""
    if method in study.method_styles:
        colour, marker = study.method_styles[method]
        return {"color": COLOURS[colour], "marker": marker}
    position = study.methods.index(method)
    return {"color": PALETTE[position % len(PALETTE)], "marker": MARKERS[position % len(MARKERS)]}


def marker_positions(line: int, lines: int, points: int) -> tuple[int, int]:
    """Return first point and step for `markevery`, which differ between the lines of a panel.

    So that lines that coincide each show their own markers. line: its number, from 0.
    """
    step = max(lines, points // MARKS)
    return line * step // lines, step


def draw_spread(
    axes: Axes, x: np.ndarray, values: np.ndarray, band: Band, colour: Any, alpha: float = 0.15
) -> None:
    """Draw the band over seeds of values [seed, x] or, of few seeds, each as a thin line.

    An interval over two or three seeds would be wider than the differences of interest.
    """
    if len(values) >= FEWEST_OF_BAND:
        axes.fill_between(x, band.low, band.high, color=colour, alpha=alpha, lw=0)
    else:
        axes.plot(x, values.T, color=colour, lw=0.5, alpha=0.6)


def visible_values(values: np.ndarray, band: Band) -> np.ndarray:
    """Return the values that an axis must cover beside `draw_spread`: mean, or also each seed."""
    return band.mean if len(values) >= FEWEST_OF_BAND else np.vstack([band.mean, values])


def spread_note(study: StudyResults, interval: str) -> str:
    """Return the words for a caption on what `draw_spread` draws. interval: kind of the band."""
    return "thin lines: the seeds" if has_few_seeds(study) else f"band: {interval}"


def has_few_seeds(study: StudyResults) -> bool:
    """Return whether `draw_spread` draws each seed of a study."""
    return study.cube.sizes["seed"] < FEWEST_OF_BAND


def error_bars(of: Interval | Band) -> np.ndarray:
    """Return the distances from the mean to both ends, [2, points], as `errorbar` takes them."""
    return np.reshape([of.mean - of.low, of.high - of.mean], (2, -1))


def as_band(intervals: Iterable[Interval]) -> Band:
    """Return means and ends of several intervals as arrays."""
    return Band(*np.array([(each.mean, each.low, each.high) for each in intervals]).T)


def dodge(lines: int, step: float, most: float) -> np.ndarray:
    """Return the horizontal shift of each line, `step` apart, within a range of at most `most`."""
    spread = min(most, step * (lines - 1))
    return np.linspace(-spread / 2, spread / 2, lines)


def divide_levels(axes: Axes, levels: int) -> None:
    """Draw a faint line between the levels 0, 1, ... of a horizontal axis of categories.

    Points beside each other then belong to a level, and not to numbers near it.
    """
    for level in range(levels - 1):
        axes.axvline(level + 0.5, color="0.9", lw=0.8, zorder=0)


def stream_title(stream: str, store: xr.Dataset) -> str:
    """Return a stream's name, with its title where that adds something; works by their names."""
    text = bibliography.in_words(store.attrs["title"])
    return stream if text in (stream, f"stream {stream}") else f"{stream}: {text}"


def panel_letters(panels: int) -> list[str]:
    """Return a, b, ..., z, aa, ab, ... for several panels, and an empty text for a single one."""
    if panels == 1:
        return [""]
    alphabet = string.ascii_lowercase
    return [
        (alphabet[number // 26 - 1] if number >= 26 else "") + alphabet[number % 26]
        for number in range(panels)
    ]


def set_title(axes: Axes, letter: str, text: str) -> None:
    """Set a panel's title, with its letter unless that is empty."""
    axes.set_title(with_letter(letter, text))


def with_letter(letter: str, text: str) -> str:
    """Return a title that begins with a letter in bold, unless that is empty."""
    return f"{OWN_MATH}bf{{{letter}}}$  {escaped(text)}" if letter else text


def escaped(text: str) -> str:
    """Return a text whose dollar signs are shown as they are, beside formulas of ours."""
    return text.replace("$", r"\$")


def take_literally(texts: Iterable[Text]) -> None:
    """Show dollar signs as they are: names of columns and units may have some.

    Formulas of ours begin with `OWN_MATH`, and so do numbers on logarithmic axes.
    """
    for text in texts:
        if "$" in text.get_text() and OWN_MATH not in text.get_text():
            text.set_parse_math(False)


def divide(
    canvas: Figure, streams: Collection[T], heights: Sequence[float] | None = None
) -> Iterator[tuple[T, SubFigure]]:
    """Divide a figure into one row per stream; return each stream with its row.

    heights: of the rows, relative to each other; equal by default.
    """
    rows = canvas.subfigures(len(streams), 1, squeeze=False, height_ratios=heights)[:, 0]
    return zip(streams, rows, strict=True)


def set_message(canvas: FigureBase, message: str) -> None:
    """Set what a figure or a block of it says as its title."""
    canvas.suptitle(message, x=LEFT, ha="left", size=11, weight="bold")


def below_message(canvas: FigureBase, message: str) -> SubFigure:
    """Set the message of a figure or block; return the part below it, for panels and a legend.

    A legend above the panels of the figure itself would be drawn over the message.
    """
    set_message(canvas, message)
    return canvas.subfigures(1, 1, squeeze=False)[0, 0]


def panel_per_stream(
    streams: Iterable[str],
    height: float,
    message: str,
    foot: str,
    basis: str,
    draw: Callable[[Axes, str], None],
    legend: bool = True,
) -> Figure:
    """Return a figure with its message, a shared legend and one panel per stream.

    height: of a panel, in inches. foot, basis: see `figure`. draw: draws a stream, by name, into
    its panel. legend: false where lines have their names at their ends.
    """
    names = list(streams)
    rows = math.ceil(len(names) / COLUMNS)
    columns = math.ceil(len(names) / rows)
    canvas = figure(height * rows + 0.3 + MESSAGE, foot, basis)
    below = below_message(canvas, message)
    panels = below.subplots(rows, columns, squeeze=False).ravel()
    for panel, name, letter in zip(panels, names, panel_letters(len(names)), strict=False):
        draw(panel, name)
        set_title(panel, letter, name)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    if legend:
        shared_legend(below, panels[0])
    return canvas


def shared_legend(canvas: Figure | SubFigure, panel: Axes) -> None:
    """Show a panel's labels as the legend of the whole figure, or of a part of it."""
    figure_legend(canvas, *panel.get_legend_handles_labels())


def figure_legend(
    canvas: Figure | SubFigure, handles: Sequence[Artist], labels: Sequence[str] | None = None
) -> None:
    """Add a legend above a figure, in as few rows as fit. labels: by default of the handles."""
    for rows in range(1, len(handles) + 1):
        columns = math.ceil(len(handles) / rows)
        legend = canvas.legend(
            handles=handles, labels=labels, loc="outside upper center", ncols=columns
        )
        take_literally(legend.get_texts())
        if columns == 1 or legend.get_window_extent().width <= canvas.bbox.width:
            return
        legend.remove()
