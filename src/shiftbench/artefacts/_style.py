"""One look for all figures, and files that have the same bytes whenever they are drawn."""

from __future__ import annotations

import math
import re
import string
import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from matplotlib.transforms import Bbox
from PIL import Image

from shiftbench.artefacts._files import write_beside
from shiftbench.scoring.results import StudyResults
from shiftbench.scoring.statistics import Band

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
FOOT_INCHES = 0.17
"""Height of one foot line."""
FOOT_CHARACTERS = 190
DOTS = " ..."
MARKS = 7
"""Markers of a long line."""
DESCRIPTION_CHARACTERS = 100
"""Of a line of the caption in a file."""
FEWEST_OF_BAND = 4
"""Seeds below which each is drawn, and no interval."""
WIDEST_TITLE = 105
"""Characters of a title that fit above a panel as wide as a figure."""

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
    """An empty figure, `height` inches plus the foot lines of its caption.

    budget: the end of the caption, on coverage and cuts, which begins the second line.
    """
    lines = foot(caption, budget)
    margin = FOOT_INCHES * len(lines) + 0.08
    drawn = Figure(figsize=(WIDTH, height + margin))
    FigureCanvasAgg(drawn)
    share = margin / (height + margin)
    drawn.set_layout_engine("constrained", rect=(0, share, 1, 1 - share))
    # A share of the height, but not so much that it would leave the foot of a tall figure.
    bottom = min(0.01, FOOT_INCHES / (height + margin))
    drawn.text(0.008, bottom, "\n".join(lines), size=7.5, color=MUTED, va="bottom")
    return drawn


def foot(caption: str, budget: str = "") -> list[str]:
    """The lines of a caption that stand in its figure: as many whole clauses as two lines hold.

    With a budget, a line of what comes before it and a line of its own.
    """
    marks = caption.removesuffix(budget).strip() if budget else caption
    if not (budget and marks):
        return textwrap.wrap(_beginning(caption, 2 * FOOT_CHARACTERS - 20), FOOT_CHARACTERS)
    return [_beginning(part, FOOT_CHARACTERS) for part in (marks, budget)]


def _beginning(text: str, characters: int) -> str:
    """The clauses of a text that fit, or as many words; with dots where a sentence is cut."""
    if len(text) <= characters:
        return text
    kept = text[: characters - len(DOTS)]
    ends = [found.end() for found in re.finditer(r"[.;](?= )(?<!\bal\.)(?<!Fig\.)(?<!eq\.)", kept)]
    whole = kept[: ends[-1]] if ends else kept.rpartition(" ")[0]
    return whole if whole.endswith(".") else whole.rstrip(";,:") + DOTS


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
    """A stream with its title, where that says more than its name, as far as a figure is wide."""
    words = store.attrs["title"]
    whole = stream if words in (stream, f"stream {stream}") else f"{stream}: {words}"
    return textwrap.shorten(whole, WIDEST_TITLE, placeholder=DOTS)


def title(axes: Axes, letter: str, text: str) -> None:
    """A panel's title, with its letter."""
    axes.set_title(f"$\\bf{{{letter}}}$  {text}")


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
    for letter, (panel, name) in enumerate(zip(panels, names, strict=False)):
        draw(panel, name)
        title(panel, string.ascii_lowercase[letter], name)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    legend_above(drawn, panels[0])
    return drawn


def legend_above(drawn: Figure, panel: Axes) -> None:
    """A panel's labels as the legend of the whole figure."""
    handles, labels = panel.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=len(labels))


@styled
def save(drawn: Figure, stem: Path, caption: str = "", words: bool = False) -> None:
    """Writes STEM.svg and STEM.png, each at once; equal figures give equal bytes.

    Both have the whole caption as their description, in lines, which `described` reads. The
    layout of `drawn` is fixed by this. words: letters are text in the SVG, in a font of the
    reader's, and not outlines: a fifth of the size of a figure that is mostly words.
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
    drawn.draw_without_rendering()
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
