"""Lines over time of the changes that each method finds, and of the known changes."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best, _series
from shiftbench.evaluation.scoring import segmentation
from shiftbench.evaluation.scoring.results import StudyResults

MOST_NUMBERS = 3
"""The most numbers of changes that a sentence lists."""
FAINT = 0.3
"""Opacity of the mark of one annotator; marks of several add up."""


def deciding(study: StudyResults, artefact: str, every: bool = False) -> list[str]:
    """Return the methods that decide about changes, with changes `found` on every stream.

    UserError, for the artefact, if there is none.
    """
    methods = [
        name
        for name in study.methods
        if all(found(study, stream, name, every) for stream in study.streams)
    ]
    if not methods:
        where = "" if every else " on the first realisation"
        raise study.lacking(artefact, f"a method that finds changes and did not fail{where}")
    return methods


def counts(study: StudyResults, stream: str, methods: list[str], every: bool = False) -> str:
    """Return the number of changes `found` by each method, mean over these seeds, in words.

    False ones count, too. Of many different numbers, only the smallest and the largest.
    """
    inferred: dict[float, list[str]] = {}
    for name in methods:
        number = float(np.mean([len(points) for points in found(study, stream, name, every)]))
        inferred.setdefault(number, []).append(name)
    if len(inferred) > MOST_NUMBERS:
        fewest, most = (
            f"{number:.3g} ({_best.names(study, inferred[number])})"
            for number in (min(inferred), max(inferred))
        )
        said = f"{len(methods)} methods infer from {fewest} to {most} changes"
    else:
        said = "; ".join(
            f"{_best.names(study, names)} infer{'s' * (len(names) == 1)} {number:.3g}"
            f" change{'s' * (number != 1)}"
            for number, names in inferred.items()
        )
    return f"{_series.short_name(study, stream)}: {said}"


def there_are(number: int, kind: str = "") -> str:
    """Return the clause on the number of changes of a kind."""
    ones = f" {kind} one{'s' * (number != 1)}" if kind else ""
    return f"there {'is' if number == 1 else 'are'} {number}{ones}"


def draw(
    panel: Axes, study: StudyResults, stream: str, methods: list[str], every: bool = False
) -> None:
    """Draw a line per method, with a mark at each of the changes `found`."""
    store = study.streams[stream]
    times = _series.task_times(store)
    for line, name in enumerate(methods):
        colour = figure_style.method_style(study, name)["color"]
        panel.axhline(line, color=colour, lw=0.6, alpha=0.4)
        of_seeds = found(study, stream, name, every)
        opacity = 1 / max(len(of_seeds), 1) ** 0.5
        for points in of_seeds:
            changes = times[points]
            heights = np.full(len(changes), line)
            panel.plot(changes, heights, "|", ms=15, mew=2.5, color=colour, alpha=opacity)
    panel.set_yticks(range(len(methods)), [f"changes by {study.label(name)}" for name in methods])
    panel.set(ylim=(len(methods) - 0.4, -0.6), xlabel=_series.axis_label(store))
    panel.tick_params(axis="y", length=0, labelsize=9)
    panel.spines["left"].set_visible(False)
    draw_known(panel, store)
    if times.dtype.kind == "M":
        use_dates(panel, AutoDateLocator())


def draw_known(panel: Axes, store: xr.Dataset) -> None:
    """Draw a line at each change that a person marked or that is known."""
    times = _series.task_times(store)
    for marks in known(store):
        for task in np.flatnonzero(marks):
            panel.axvline(times[task], color=figure_style.MUTED, lw=1.6, alpha=FAINT, zorder=0)


def found(study: StudyResults, stream: str, name: str, every: bool = False) -> list[np.ndarray]:
    """Return by seed the first task of each segment, without the first segment.

    Of every seed, or of the first one on the first realisation, whose values figures show. Empty
    if these failed, for a method that does not decide about changes, and for run lengths that
    count rows where tasks have several.
    """
    run = study.run(stream, name)
    run = run if every else _series.first_seed(run)
    try:
        return (segmentation.changepoints(run) or []) if run.sizes["seed"] else []
    except segmentation.RowsCounted:
        return []


def use_dates(panel: Axes, locator: AutoDateLocator) -> None:
    """Label a time axis with dates, as short as possible."""
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))


def known(store: xr.Dataset) -> np.ndarray:
    """Return the changes that people marked [annotator, task] or that are known [1, task]."""
    return store["annotation"].values if "annotation" in store else store["shift"].values[:1]
