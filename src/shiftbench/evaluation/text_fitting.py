"""Break the texts of a figure into lines, so that none leaves its place and none is shortened."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

PAD = 6.0
"""Pixels that stay free beside a text."""
FEWEST = 6
"""Characters of the narrowest line."""
ROUNDS = 3
"""Number of times that a figure is laid out and its texts wrapped."""


def wrap(text: Text, room: float, whole: str = "") -> bool:
    """Break a text into lines that are at most `room` pixels long; whether it was too long.

    whole: what it was before it was wrapped, if it was. Lines that it had then stay. Words are
    broken only where one alone is too long.
    """
    known, longest = text.get_text(), _length(text)
    if longest <= room:
        return False
    whole = whole or known
    most = max(map(len, known.split("\n")))
    for width in range(min(int(1.1 * most * room / longest), most - 1), FEWEST - 1, -1):
        lines = [line for part in whole.split("\n") for line in textwrap.wrap(part, width)]
        text.set_text("\n".join(lines))
        if _length(text) <= room:
            break
    return text.get_text() != known


def lay_out(drawn: Figure) -> None:
    """Lay a figure out, with titles and axis labels wrapped that are longer than their room.

    More lines leave other texts less room, so this is repeated while any has to be wrapped.
    """
    whole: dict[Text, str] = {}
    for _ in range(ROUNDS):
        drawn.draw_without_rendering()
        texts = [(text, room) for text, room in _rooms(drawn) if text.get_text()]
        whole = {text: text.get_text() for text, _ in texts} | whole
        if not sum([wrap(text, room, whole[text]) for text, room in texts]):
            return
    drawn.draw_without_rendering()


def _rooms(drawn: Figure) -> Iterator[tuple[Text, float]]:
    """Titles and labels, each with how long it may be."""
    panels = drawn.get_axes()
    for axes in panels:
        for text in _labels(axes):
            yield text, _room(text, axes, panels)
    for block in _blocks(drawn):
        for text in block.texts:
            yield text, _of_block(text, block)


def _blocks(drawn: Figure | SubFigure) -> Iterator[Figure | SubFigure]:
    """A figure and all that it is divided into."""
    yield drawn
    for block in drawn.subfigs:
        yield from _blocks(block)


def _labels(axes: Axes) -> list[Text]:
    """Titles and names of axes, which are texts of a panel but are not placed by its data."""
    placed = set(axes.texts)
    texts = [one for one in axes.get_children() if isinstance(one, Text) and one not in placed]
    texts += [axes.xaxis.label, axes.yaxis.label]
    return [one for one in texts if one.get_visible()]


def _room(text: Text, axes: Axes, panels: Iterable[Axes]) -> float:
    """Return the longest width of a title or label of a panel.

    A text at the side has the height of its panel. One that begins at the left may reach to the
    next panel; one in the middle has half of the gap on both sides, for the neighbours have texts
    too.
    """
    own, box = axes.bbox, text.get_window_extent()
    if text.get_rotation() % 180:
        return own.height
    left, right = _beside(axes, panels)
    if text.get_ha() == "left":
        return right - box.x0 - PAD
    if text.get_ha() == "right":
        return box.x1 - left - PAD
    return own.width + min(own.x0 - left, right - own.x1)


def _beside(axes: Axes, panels: Iterable[Axes]) -> tuple[float, float]:
    """Where the panels on the left and on the right end and begin, or else the figure."""
    own, whole = axes.bbox, axes.get_figure(root=True).bbox
    boxes = [other.bbox for other in panels if other is not axes]
    level = [box for box in boxes if box.y0 < own.y1 and own.y0 < box.y1]
    left = max([box.x1 for box in level if box.x1 <= own.x0 + 1], default=whole.x0)
    return left, min([box.x0 for box in level if box.x0 >= own.x1 - 1], default=whole.x1)


def _of_block(text: Text, block: Figure | SubFigure) -> float:
    """Return the longest width of a text of a figure, such as the title of a block."""
    own, box = block.bbox, text.get_window_extent()
    if text.get_rotation() % 180:
        return own.height - 2 * PAD
    return own.x1 - box.x0 - PAD if text.get_ha() == "left" else own.width - 2 * PAD


def _length(text: Text) -> float:
    box = text.get_window_extent()
    return box.height if text.get_rotation() % 180 else box.width
