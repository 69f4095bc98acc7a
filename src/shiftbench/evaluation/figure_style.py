"""One look for all figures, and files that have the same bytes whenever they are drawn."""

from __future__ import annotations

import math
import string
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from matplotlib.transforms import Bbox
from PIL import Image

from shiftbench.evaluation import text_fitting
from shiftbench.evaluation.output_files import write_beside
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Band

PALETTE: tuple[tuple[float, float, float], ...] = tuple(sns.color_palette("colorblind"))
"""Ten colours that people with colour-vision deficiency can tell apart."""
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
"""Panels beside each other at most."""
DPI = 150
LEFT = 0.008
"""Where the caption begins, as a share of the width."""
FOOT_MARGIN = 0.06
"""Inches that stay free above and below the caption."""
MARKS = 7
"""Markers of a long line."""
DESCRIPTION_CHARACTERS = 100
"""Of a line of the caption in a file."""
FEWEST_OF_BAND = 4
"""Seeds below which each is drawn, and no interval."""

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
"""Decorator of a function that draws or saves: the settings above hold inside it."""


def figure(height: float, caption: str, budget: str = "") -> Figure:
    """An empty figure, `height` inches and, below, its whole caption in as many lines as it needs.

    budget: the end of the caption, on coverage and cuts, which begins a line.
    """
    drawn = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(drawn)
    foot = drawn.text(LEFT, 0, _paragraphs(caption, budget), size=7.5, color=MUTED, va="bottom")
    text_fitting.wrap(foot, (1 - 2 * LEFT) * drawn.bbox.width)
    margin = math.ceil(foot.get_window_extent().height) / DPI + 2 * FOOT_MARGIN if caption else 0.0
    drawn.set_size_inches(WIDTH, height + margin)
    foot.set_y(FOOT_MARGIN / (height + margin))
    share = margin / (height + margin)
    drawn.set_layout_engine("constrained", rect=(0, share, 1, 1 - share))
    return drawn


def _paragraphs(caption: str, budget: str) -> str:
    """The caption in one paragraph or, where more comes before its budget, in two."""
    marks = caption.removesuffix(budget).strip() if budget else ""
    return f"{marks}\n{budget}" if marks else caption


def look(study: StudyResults, learner: str) -> dict[str, Any]:
    """Colour and marker of a learner: its method's, in all figures; else by its place."""
    if learner in study.looks:
        colour, marker = study.looks[learner]
        return {"color": COLOURS[colour], "marker": marker}
    place = study.learners.index(learner)
    return {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}


def apart(place: int, of: int, points: int) -> tuple[int, int]:
    """Which points of a line have its marker: others than those of the other lines.

    place: of the line among so many. Of lines that coincide each then shows its own markers.
    """
    every = max(of, points // MARKS)
    return place * every // of, every


def spread(
    axes: Axes, x: np.ndarray, values: np.ndarray, band: Band, colour: Any, alpha: float = 0.15
) -> None:
    """How far seeds lie apart, of values [seed, x]: their band or, of few, each as a thin line.

    An interval of two or three seeds is wider than anything that it would be compared with.
    """
    if len(values) >= FEWEST_OF_BAND:
        axes.fill_between(x, band.low, band.high, color=colour, alpha=alpha, lw=0)
    else:
        axes.plot(x, values.T, color=colour, lw=0.5, alpha=0.6)


def shown(values: np.ndarray, band: Band) -> np.ndarray:
    """What an axis has to have room for beside `spread`: the mean, and each of few seeds."""
    return band.mean if len(values) >= FEWEST_OF_BAND else np.vstack([band.mean, values])


def spread_told(study: StudyResults, interval: str) -> str:
    """What `spread` draws for a study, whose intervals are described so, for captions."""
    return "thin lines: the seeds" if has_few(study) else f"band: {interval}"


def has_few(study: StudyResults) -> bool:
    """Whether `spread` draws each seed of a study."""
    return study.cube.sizes["seed"] < FEWEST_OF_BAND


def named(stream: str, store: xr.Dataset) -> str:
    """A stream with its title, where that says more than its name."""
    words = store.attrs["title"]
    return stream if words in (stream, f"stream {stream}") else f"{stream}: {words}"


def letters(panels: int) -> list[str]:
    """a, b, ..., z, aa, ab, ... for so many panels; none for a single one."""
    if panels == 1:
        return [""]
    alphabet = string.ascii_lowercase
    return [
        (alphabet[number // 26 - 1] if number >= 26 else "") + alphabet[number % 26]
        for number in range(panels)
    ]


def title(axes: Axes, letter: str, text: str) -> None:
    """A panel's title, with its letter if it has one."""
    axes.set_title(lettered(letter, text))


def lettered(letter: str, text: str) -> str:
    """A title that begins with a letter in bold, unless that is empty."""
    return f"$\\bf{{{letter}}}$  {text}" if letter else text


def by_stream(
    streams: Iterable[str],
    height: float,
    caption: str,
    budget: str,
    draw: Callable[[Axes, str], None],
) -> Figure:
    """A figure with one panel a stream, `height` inches each, and one legend above."""
    names = list(streams)
    columns = min(COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    drawn = figure(height * rows + 0.3, caption, budget)
    panels = drawn.subplots(rows, columns, squeeze=False).ravel()
    for panel, name, letter in zip(panels, names, letters(len(names)), strict=False):
        draw(panel, name)
        title(panel, letter, name)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    legend_above(drawn, panels[0])
    return drawn


def legend_above(drawn: Figure, panel: Axes) -> None:
    """A panel's labels as the legend of the whole figure."""
    legend(drawn, *panel.get_legend_handles_labels())


def legend(drawn: Figure, handles: Sequence[Artist], labels: Sequence[str] | None = None) -> None:
    """A legend above a whole figure, in as few rows as fit; labels: if not of the handles."""
    for rows in range(1, len(handles) + 1):
        columns = math.ceil(len(handles) / rows)
        made = drawn.legend(
            handles=handles, labels=labels, loc="outside upper center", ncols=columns
        )
        if columns == 1 or made.get_window_extent().width <= drawn.bbox.width:
            return
        made.remove()


@styled
def save(drawn: Figure, stem: Path, caption: str = "", words: bool = False) -> None:
    """Writes STEM.svg and STEM.png, each at once; equal figures give equal bytes.

    Both have the whole caption as their description, in lines, which `described` reads. This
    wraps titles that are longer than their room, and fixes the layout of `drawn`. words: letters
    are text in the SVG, in a font of the reader's, and not outlines: a fifth of the size of a
    figure that is mostly words.
    """
    _freeze(drawn)
    told = {"Description": textwrap.fill(caption, DESCRIPTION_CHARACTERS)}

    def write(kind: str, undated: dict[str, None], path: Path) -> None:
        with matplotlib.rc_context({"svg.fonttype": "none" if words else RC["svg.fonttype"]}):
            drawn.savefig(path, format=kind, metadata=told | undated, dpi=DPI)

    writers = {
        "svg": partial(write, "svg", {"Date": None, "Creator": None}),
        "png": partial(write, "png", {"Software": None}),
    }
    write_beside(Path(stem), writers)


def described(picture: Path) -> str:
    """The caption of a figure that `save` wrote as PNG, in one line; empty where it has none."""
    with Image.open(picture) as opened:
        return " ".join(str(opened.info.get("Description", "")).split())


def _freeze(drawn: Figure) -> None:
    """Lays the figure out once, to six digits: the solver's last bits differ between runs."""
    text_fitting.lay_out(drawn)
    drawn.set_layout_engine("none")
    _round_blocks(drawn, 6)
    for axes in drawn.get_axes():
        axes.set_position(Bbox(axes.get_position(original=True).get_points().round(6)))


def _round_blocks(drawn: FigureBase, digits: int) -> None:
    """Round the places of subfigures, and with more digits of those inside them."""
    for block in drawn.subfigs:
        rounded = block.bbox_relative.get_points().round(digits) + 0.0  # no -0
        block.bbox_relative.set_points(rounded)
        _round_blocks(block, digits=12)
