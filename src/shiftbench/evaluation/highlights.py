"""Few lines in colour with names at their ends, all others grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from scipy.optimize import isotonic_regression

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults

MOST = 5
"""Largest number of lines in colour in a panel."""
GREY = "0.78"
GAP = 0.075
"""Least distance of names at the ends of lines, as a share of the panel's height."""
DASHES = ("-", "--", ":", "-.")
"""Styles of lines that have the same colour."""
GAPS = ("-", (0, (5, 5)), (0, (2, 4)), (0, (8, 3, 2, 3)))
"""Styles of lines on each other, with gaps wide enough for the colour below."""
NEAR = 0.015
"""Distance of lines that lie on each other, as a share of the range of all lines."""
LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Weights of red, green and blue."""
STRETCH = 2.0
"""How far grey lines may stretch the axis, as a multiple of the range of the coloured lines."""


def leaders(means: Mapping[str, float], most: int = MOST) -> list[str]:
    """Return the names of the largest means, best first; at most `most`, none that is NaN."""
    known = [name for name, mean in means.items() if not np.isnan(mean)]
    return sorted(known, key=lambda name: -means[name])[:most]


def style(study: StudyResults, method: str, coloured: Sequence[str]) -> dict[str, Any]:
    """Return the style of a method's line: grey and behind unless `coloured`.

    Of `coloured` methods of one colour, all but the first are dashed or dotted. A method that is
    grey elsewhere is black, because grey means the others here.
    """
    if method not in coloured:
        return {"color": GREY, "marker": "", "ls": "-", "zorder": 1}
    own = figure_style.method_style(study, method)
    before = coloured[: coloured.index(method)]
    same = sum(figure_style.method_style(study, name)["color"] == own["color"] for name in before)
    colour = figure_style.INK if own["color"] == figure_style.COLOURS["grey"] else own["color"]
    return own | {"color": colour, "ls": DASHES[same % len(DASHES)], "zorder": 3}


def point_style(study: StudyResults, method: str, coloured: Sequence[str]) -> dict[str, Any]:
    """Return the style of a point where each method has its own row; it always has a marker."""
    own = style(study, method, coloured)
    colour = own["color"] if method in coloured else figure_style.MUTED
    return own | {"marker": own["marker"] or "o", "color": colour}


def label_rows(
    axes: Axes, study: StudyResults, methods: Sequence[str], coloured: Sequence[str]
) -> None:
    """Label row 0, 1, ... of a panel with the names of methods, in the colours of their lines."""
    axes.set_yticks(range(len(methods)), [study.label(name) for name in methods])
    for label, name in zip(axes.get_yticklabels(), methods, strict=True):
        if name in coloured:
            colour = style(study, name, coloured)["color"]
            label.set(color=readable(colour), fontweight="bold")


def dashes(lines: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the line style of each name: with gaps where it lies on earlier lines."""
    span = np.ptp(_range(np.concatenate([*lines.values()]))) if lines else 0.0
    found: dict[str, Any] = {}
    for name, line in lines.items():
        below = [np.nanmedian(np.abs(line - lines[other])) < NEAR * span for other in found]
        found[name] = GAPS[sum(below) % len(GAPS)]
    return found


def shift(method: str, coloured: Sequence[str]) -> float:
    """Return the horizontal shift of a coloured line's points, from -0.5 to 0.5."""
    return (coloured.index(method) + 0.5) / len(coloured) - 0.5


def limit(axes: Axes, coloured: Sequence[np.ndarray], grey: Mapping[str, np.ndarray]) -> list[str]:
    """Set the y axis to show all coloured lines; return the names of grey ones that leave it.

    The axis includes a whole grey line if that stretches it by at most `STRETCH`.
    """
    low, high = _range(np.concatenate([np.ravel(values) for values in coloured]))
    (floor, ceiling), left = reach(low, high), []
    ends = {name: _range(values) for name, values in grey.items() if np.isfinite(values).any()}
    for name, (least, most) in ends.items():
        if least < floor or most > ceiling:
            left.append(name)
        else:
            low, high = min(low, least), max(high, most)
    margin = 0.05 * (high - low or 1.0)
    axes.set_ylim(low - margin, high + margin)
    return left


def reach(low: float, high: float) -> tuple[float, float]:
    """Return the ends up to which an axis of coloured lines from low to high may be stretched."""
    room = (STRETCH - 1) * (high - low)
    return low - room, high + room


def beyond(names: Sequence[str]) -> str:
    """Return the words on lines that `limit` leaves out, to be written beside the panel."""
    return f"beyond the axis: {', '.join(names)}" if names else ""


def ends(
    study: StudyResults, points: Mapping[str, tuple[Any, float]], coloured: Sequence[str]
) -> dict[str, tuple[Any, float, Any]]:
    """Return what `name_ends` needs of coloured lines. points: the last point of each method."""
    return {
        study.label(name): (*point, style(study, name, coloured)["color"])
        for name, point in points.items()
        if name in coloured
    }


def name_ends(axes: Axes, ends: Mapping[str, tuple[Any, float, Any]], gap: float = GAP) -> None:
    """Write names beside the ends of lines, apart from each other. Set the axis' limits before.

    ends: x, y and colour by name; those whose y is NaN have no line. gap: least distance, as a
    share of the panel's height.
    """
    drawn = [name for name in ends if np.isfinite(ends[name][1])]
    if not drawn:
        return
    names = sorted(drawn, key=lambda name: ends[name][1])
    y = np.array([ends[name][1] for name in names], float)
    axes.get_ylim()  # scales the axis now, so that the transformations below know its limits
    to_share = axes.transScale + axes.transLimits
    shares = to_share.transform(np.column_stack([np.ones(len(y)), y]))[:, 1]
    for name, share in zip(names, spread(shares, gap), strict=True):
        x, value, colour = ends[name]
        axes.annotate(
            name, (x, value), (1.03, share), textcoords="axes fraction", color=readable(colour),
            size=8, va="center", weight="bold", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.5, "shrinkA": 0, "shrinkB": 2,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Return ascending places moved as little as possible to be `gap` apart, from 0 to 1."""
    steps = gap * np.arange(len(places))
    room = max(0.0, 1 - steps[-1])
    return np.clip(isotonic_regression(places - steps).x, 0, room) + steps


def readable(colour: Any) -> tuple[float, ...]:
    """Return a colour that can be read on white: yellow and pink become darker.

    So much that pink does not look like the purple of others.
    """
    rgb = np.array(to_rgb(colour))
    return tuple(rgb * (0.6 if rgb @ LUMINANCE > 0.7 else 1.0))


def _range(values: np.ndarray) -> tuple[float, float]:
    return float(np.nanmin(values)), float(np.nanmax(values))
