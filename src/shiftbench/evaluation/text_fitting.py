"""Break the texts of a figure into lines, so that each fits its room without being shortened."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

PAD = 6.0
"""Free space beside a text, in pixels."""
FEWEST = 6
"""Characters of the narrowest line."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Placeholder between a number and its percent sign while lines are broken."""
ROUNDS = 6
"""Largest number of times that a figure is laid out and its texts wrapped."""


def wrap(text: Text, room: float, whole: str = "") -> bool:
    """Break a text into lines of at most `room` pixels; return whether that changed it.

    whole: the text before it was wrapped for the first time, if it was; its line breaks stay. A
    word is broken only if it alone is too long.
    """
    before, longest = text.get_text(), _length(text)
    if longest <= room:
        return False
    whole = whole or before
    most = max(map(len, before.split("\n")))
    for width in range(min(int(1.1 * most * room / longest), most - 1), FEWEST - 1, -1):
        parts = whole.replace(" %", f"{NO_BREAK}%").split("\n")
        lines = [line for part in parts for line in textwrap.wrap(part, width)]
        text.set_text("\n".join(lines).replace(NO_BREAK, " "))
        if _length(text) <= room:
            break
    return text.get_text() != before


def lay_out(figure: Figure) -> None:
    """Lay a figure out, and wrap titles and axis labels that are longer than their room.

    More lines leave other texts less room, so this is repeated while a text has to be wrapped.
    """
    whole: dict[Text, str] = {}
    for _ in range(ROUNDS):
        _place(figure)
        texts = [(text, room) for text, room in _rooms(figure) if text.get_text()]
        whole = {text: text.get_text() for text, _ in texts} | whole
        if not sum([wrap(text, room, whole[text]) for text, room in texts]):
            return
    _place(figure)


def _place(figure: Figure) -> None:
    """Lay a figure out without drawing it."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    for axes in figure.get_axes():
        axes.apply_aspect()


def _rooms(figure: Figure) -> Iterator[tuple[Text, float]]:
    """Yield titles and labels, each with its longest length in pixels."""
    panels = figure.get_axes()
    for axes in panels:
        for text in _labels(axes):
            yield text, _room_in_panel(text, axes, panels)
    for block in _blocks(figure):
        for text in block.texts:
            yield text, _room_in_block(text, block)


def _blocks(figure: Figure | SubFigure) -> Iterator[Figure | SubFigure]:
    """Yield a figure and all its subfigures."""
    yield figure
    for block in figure.subfigs:
        yield from _blocks(block)


def _labels(axes: Axes) -> list[Text]:
    """Return titles and axis labels: the texts of a panel that its data do not place."""
    placed = set(axes.texts)
    texts = [each for each in axes.get_children() if isinstance(each, Text) and each not in placed]
    texts += [axes.xaxis.label, axes.yaxis.label]
    return [text for text in texts if text.get_visible()]


def _room_in_panel(text: Text, axes: Axes, panels: Iterable[Axes]) -> float:
    """Return the longest width of a title or label of a panel.

    A text at the side may be as long as the height of its panel. A left-aligned text may extend to
    the next panel, a centred one over half of the gaps, because the neighbours have texts too.
    """
    own, box = axes.bbox, text.get_window_extent()
    if text.get_rotation() % 180:
        return own.height
    left, right = _beside(axes, panels)
    if text.get_ha() == "left":
        return right - box.x0 - PAD
    if text.get_ha() == "right":
        return box.x1 - left - PAD
    return own.width + min(own.x0 - left, right - own.x1) - 2 * PAD


def _beside(axes: Axes, panels: Iterable[Axes]) -> tuple[float, float]:
    """Return the right edge of the panel on the left and the left edge of that on the right.

    Where there is no panel, the edge of the figure.
    """
    own, whole = axes.bbox, axes.get_figure(root=True).bbox
    boxes = [other.bbox for other in panels if other is not axes]
    level = [box for box in boxes if box.y0 < own.y1 and own.y0 < box.y1]
    left = max([box.x1 for box in level if box.x1 <= own.x0 + 1], default=whole.x0)
    return left, min([box.x0 for box in level if box.x0 >= own.x1 - 1], default=whole.x1)


def _room_in_block(text: Text, block: Figure | SubFigure) -> float:
    """Return the longest width of a text of a figure, such as the title of a block."""
    own, box = block.bbox, text.get_window_extent()
    if text.get_rotation() % 180:
        return own.height - 2 * PAD
    return own.x1 - box.x0 - PAD if text.get_ha() == "left" else own.width - 2 * PAD


def _length(text: Text) -> float:
    box = text.get_window_extent()
    return box.height if text.get_rotation() % 180 else box.width
