"""The picture of the start page: scores of the methods of a study, with intervals, as SVG."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftbench.evaluation.scoring import ranking, statistics, units
from shiftbench.publish.site import method_styles, standings
from shiftbench.publish.site.board import Column
from shiftbench.publish.site.method_styles import MethodStyle

WIDTH, ROW, TOP = 460, 24, 8
LEFT, RIGHT = 150, 50
"""Space for names and numbers, in pixels."""
MOST = 12
"""Largest number of methods that are drawn, the best ones."""
TICKS = 4


class Dot(NamedTuple):
    """A method: places of its mean and of the ends of its interval, in pixels."""

    label: str
    method: str
    style: MethodStyle
    y: float
    x: float
    low: float
    high: float
    text: str


class Picture(NamedTuple):
    """Means with 95 % intervals, best first.

    ticks: places and texts; description: all in words; message: what the picture shows.
    """

    width: int
    height: int
    dots: list[Dot]
    ticks: list[tuple[float, str]]
    axis: str
    description: str
    message: str


def of(column: Column) -> Picture:
    """Return the picture of a column of the board."""
    study, metric = column.study, column.metric
    styles = method_styles.of_study(study.planned, study.methods)
    bounds = statistics.bounds(metric)
    means = {
        name: statistics.interval(values, bounds)
        for name, values in list(column.ranking.scores.items())[:MOST]
    }
    ends = [
        [one.mean if np.isnan(end) else end for end in (one.low, one.high)]
        for one in means.values()
    ]
    least, most = np.min(ends), np.max(ends)
    space = (most - least) or 1.0

    def across(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - least) / space, 1)

    dots = [
        Dot(study.label(name), name, styles[name], TOP + ROW * (row + 0.5), across(one.mean),
            across(low), across(high), units.text(metric, one.mean))
        for row, ((name, one), (low, high)) in enumerate(zip(means.items(), ends, strict=True))
    ]  # fmt: skip
    better = "higher" if ranking.higher_is_better(metric) else "lower"
    unit = units.shown_unit(metric)
    axis = (
        f"{column.measured}{f' ({unit})' if unit else ''}, {better} is better; bars: 95 % intervals"
    )
    in_words = "; ".join(f"{dot.label} {dot.text}" for dot in dots)
    ticks = [(across(value), units.text(metric, value)) for value in _ticks(least, most)]
    return Picture(
        WIDTH, TOP + ROW * len(dots), dots, ticks, axis, f"{axis}: {in_words}", _message(column)
    )


def _message(column: Column) -> str:
    """Return what the picture shows, in a sentence."""
    study, found = column.study, column.ranking
    if found.leader is None:
        return f"{column.title}: no method has a score."
    alone = f"{column.title}: {study.label(found.leader)} has the best {column.measured}"
    return f"{alone}, {standings.resolved(study, found)}." if found.leads else f"{alone}."


def _ticks(least: float, most: float) -> list[float]:
    """Return round numbers in a range."""
    if not most > least:
        return [least]
    power = 10.0 ** np.floor(np.log10((most - least) / TICKS))
    step = next(power * size for size in (1, 2, 5, 10) if (most - least) / (power * size) <= TICKS)
    return list(np.arange(np.ceil(least / step), np.floor(most / step) + 1) * step)
