"""Picture files of figures: equal bytes for equal figures, with the caption as description."""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure, FigureBase
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from shiftbench.evaluation import figure_style, text_fitting
from shiftbench.evaluation.output_files import write_together

DESCRIPTION_CHARACTERS = 100
"""Longest line of the caption in the metadata of a file."""


@figure_style.styled
def save(canvas: Figure, stem: Path, caption: str = "", words: bool = False) -> None:
    """Write STEM.svg and STEM.png together; equal figures give equal bytes.

    Titles longer than their room are wrapped, and the layout of the figure is fixed.

    Parameters
    ----------
    canvas
        The figure.
    stem
        Path of the files without their endings.
    caption
        Stored in both files as description; `read_caption` reads it.
    words
        Keep letters as text in the SVG, in a font of the reader's, rather than as outlines. A
        figure that is mostly words then takes a fifth of the space.
    """
    _freeze(canvas)
    description = {"Description": textwrap.fill(caption, DESCRIPTION_CHARACTERS)}

    def write(kind: str, undated: dict[str, None], path: Path) -> None:
        with matplotlib.rc_context(
            {"svg.fonttype": "none" if words else figure_style.RC["svg.fonttype"]}
        ):
            canvas.savefig(path, format=kind, metadata=description | undated, dpi=figure_style.DPI)

    writers = {
        "svg": partial(write, "svg", {"Date": None, "Creator": None}),
        "png": partial(write, "png", {"Software": None}),
    }
    write_together(Path(stem), writers)


def read_caption(png: Path) -> str:
    """Return the caption of a figure that `save` wrote as PNG, in one line; may be empty."""
    with Image.open(png) as picture:
        return " ".join(str(picture.info.get("Description", "")).split())


def _freeze(canvas: Figure) -> None:
    """Lay a figure out once, to six digits: the solver's last bits differ between runs."""
    figure_style.take_literally(canvas.findobj(Text))
    text_fitting.lay_out(canvas)
    canvas.set_layout_engine(None)  # for "none", Matplotlib would draw twice before each file
    _round_blocks(canvas, 6)
    for axes in canvas.get_axes():
        axes.set_position(Bbox(axes.get_position(original=True).get_points().round(6)))


def _round_blocks(canvas: FigureBase, digits: int) -> None:
    """Round the positions of subfigures, with more digits for nested ones."""
    for block in canvas.subfigs:
        rounded = block.bbox_relative.get_points().round(digits) + 0.0  # no -0
        block.bbox_relative.set_points(rounded)
        _round_blocks(block, digits=12)
