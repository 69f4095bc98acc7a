"""Colour and marker of a method, as in the figures, for charts and marks beside its name."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.colors import to_hex

from shiftbench.config import schema
from shiftbench.evaluation import figure_style

COLOURS = {name: to_hex(colour) for name, colour in figure_style.COLOURS.items()}
_CROSS = "M-1,-.4L-.4,-1L0,-.6L.4,-1L1,-.4L.6,0L1,.4L.4,1L0,.6L-.4,1L-1,.4L-.6,0Z"
_PLUS = (
    "M-.35,-1L.35,-1L.35,-.35L1,-.35L1,.35L.35,.35L.35,1L-.35,1L-.35,.35L-1,.35L-1,-.35L-.35,-.35Z"
)
SHAPES = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "^": "triangle-up",
    "v": "triangle-down",
    "P": _PLUS,
    "X": _CROSS,
}
"""Vega's names of Matplotlib's markers, or their outlines within ±1."""
OUTLINES = {
    "o": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "s": "M-.85,-.85H.85V.85H-.85Z",
    "D": "M0,-1L1,0L0,1L-1,0Z",
    "^": "M0,-1L1,.8L-1,.8Z",
    "v": "M0,1L1,-.8L-1,-.8Z",
    "P": _PLUS,
    "X": _CROSS,
}
"""The same as SVG paths."""
UNKNOWN = ("grey", "o")


class MethodStyle(NamedTuple):
    """Colour (hexadecimal) and marker (Matplotlib's name)."""

    colour: str
    marker: str

    @property
    def outline(self) -> str:
        """The marker as an SVG path within ±1."""
        return OUTLINES[self.marker]


def style(names: tuple[str, str] | None) -> MethodStyle:
    """Return the style by the names of a config, colour and marker; a grey dot without names."""
    colour, marker = names or UNKNOWN
    return MethodStyle(COLOURS[colour], marker)


def of_study(planned: schema.Study, methods: list[str]) -> dict[str, MethodStyle]:
    """Return the style of every method."""
    names = planned.method_styles
    return {method: style(names.get(method)) for method in methods}
