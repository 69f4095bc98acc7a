"""Accuracy over tasks relative to the baseline, with images and true and inferred shifts.

Fig. 3 of li2021vbs, where VCL is the baseline. Its accuracy on the same task and seed is
subtracted, because tasks differ in difficulty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import provenance
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _detectors, _figure_parts, _pictures
from shiftbench.evaluation.scoring import shift_matching, statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts(takes=("image",), refuses=("heads",), uses=("accuracy",), study=("baseline",))

METRIC = "accuracy"
COLOURED = 4
"""Number of lines in colour, beside the baseline's."""
EXAMPLES = 12
"""Largest number of segments with an image; more would be too small to see."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without the baseline or the metric."""
    _check(study)
    detectors = _detecting_methods(study)
    height = 1.6 + max(3.2, 0.23 * len(study.methods)) + 0.22 * len(detectors)
    foot = f"{_foot(study)} {study.basis()}"
    figure = figure_style.figure(height * len(study.streams), foot, study.basis())
    for stream, block in figure_style.divide(figure, study.streams):
        _draw_stream(block, study, stream, detectors)
    return figure


def caption(study: StudyResults) -> str:
    """Say what leads, describe the figure, the number of runs and the reductions."""
    detectors = _detecting_methods(study)
    inferred = (
        "strip below: share of seeds for which the most likely hypothesis at the end places a "
        "shift before this task"
        if detectors
        else "no method of this study infers shifts"
    )
    messages = [message(study, stream) for stream in study.streams]
    return (
        f"{'. '.join(messages)}. {_foot(study)} In colour: the methods of the largest means"
        f"{_others(study)}. Images: the same test image under the map of each segment; {inferred}. "
        f"{study.basis()}"
    )


def _others(study: StudyResults) -> str:
    """Return the words on grey lines; empty where all are in colour."""
    return "; grey: the others" if len(study.methods) - 1 > COLOURED else ""


def message(study: StudyResults, stream: str) -> str:
    """Say which method leads the baseline most, and how many intervals are above or below it."""
    leads, baseline = _leads(study, stream), study.label(_baseline(study))
    best = next(
        iter(highlights.leaders({name: lead.mean for name, lead in leads.items()}, 1)), None
    )
    if best is None:
        return f"{stream}: no other method has a run to compare with {baseline}"
    lead = leads[best]
    points = f"{abs(lead.mean):.1f} points"
    if len(leads) == 1:
        verb = "leads" if lead.mean > 0 else "trails"
        return f"{stream}: {study.label(best)} {verb} {baseline} by {points}{_best.unclear([lead])}"
    above = sum(lead.low > 0 for lead in leads.values())
    below = sum(lead.high < 0 for lead in leads.values())
    scores = {name: study.score(stream, name, METRIC) for name in leads}
    return (
        f"{stream}: of {len(leads)} methods, {above} {'is' if above == 1 else 'are'} above"
        f" {baseline} and {below} below (95 % intervals, not corrected); "
        f"{study.label(best)} {_first(lead.mean)} by {points}"
        f"{_best.others(study, scores, [best])}"
    )


def _first(lead: float) -> str:
    return "leads most," if lead > 0 else "trails least,"


def _foot(study: StudyResults) -> str:
    """Return the sentences on lines and intervals, which are drawn below the figure."""
    interval = f"paired {statistics.described(METRIC)}"
    seeds = (
        "thin lines: its seeds" if figure_style.has_few_seeds(study) else f"band: its {interval}"
    )
    return (
        f"Accuracy minus that of {study.label(_baseline(study))} on the same task and seed. Left: "
        f"mean over tasks, {interval}. Right: mean over seeds; {seeds}, of the method that leads "
        "most; dotted: true shifts, darker where more seeds have them; images: segments of the "
        "first seed."
    )


def _baseline(study: StudyResults) -> str:
    """Return the method whose accuracy is subtracted. Raises UserError without one."""
    if study.baseline not in study.methods:
        raise study.lacking("relative-accuracy", "one of its methods as `baseline`")
    assert study.baseline is not None
    return study.baseline


def _check(study: StudyResults) -> None:
    baseline = _baseline(study)
    study.require_metrics("relative-accuracy", METRIC)
    for stream in study.streams:
        if not study.run(stream, baseline).sizes["seed"]:
            raise UserError(
                f"study {study.name}: every run of {baseline} on {stream} failed, so that "
                "relative-accuracy has nothing to compare with; see the status in summary.csv"
            )


def _detecting_methods(study: StudyResults) -> list[str]:
    """Return the methods that decide about shifts on any stream."""
    found = {name for stream in study.streams for name in _detectors.of_stream(study, stream)}
    return [name for name in study.methods if name in found]


def _draw_stream(block: SubFigure, study: StudyResults, stream: str, detectors: list[str]) -> None:
    panels = _panels(block, len(detectors))
    figure_style.set_message(block, message(study, stream))
    true = _true_shifts(study, stream)
    leads = _leads(study, stream)
    order = highlights.leaders({name: lead.mean for name, lead in leads.items()}, len(leads))
    _draw_images(panels["images"], study, stream)
    _draw_means(panels["means"], study, leads, order)
    if detectors:
        _draw_strip(panels["strip"], study, stream, detectors)
    over_tasks = [panels[name] for name in ("images", "lines", "strip") if name in panels]
    for axes in over_tasks:
        axes.set_xlim(-0.5, len(true) - 0.5)
    for axes in over_tasks[1:]:
        for task in np.flatnonzero(true):
            axes.axvline(
                task - 0.5, color=figure_style.MUTED, lw=0.8, ls=":", alpha=true[task], zorder=0
            )
    _draw_lines(panels["lines"], study, stream, order[:COLOURED])
    over_tasks[-1].set_xlabel("task")
    for axes in over_tasks[:-1]:
        axes.tick_params(labelbottom=False)


def _panels(block: SubFigure, detectors: int) -> dict[str, Axes]:
    """Return axes by name, with a strip of shifts only if a method infers some."""
    rows: list[Any] = [["means", "images"], ["means", "lines"]]
    heights = [0.6, 3.2]
    if detectors:
        rows.append(["means", "strip"])
        heights.append(0.22 * detectors)
    return block.subplot_mosaic(rows, width_ratios=[1, 1.7], height_ratios=heights)


def _true_shifts(study: StudyResults, stream: str) -> np.ndarray:
    """Return the share of seeds [task] whose realisation shifts before the task."""
    run = study.run(stream, _baseline(study))
    return shift_matching.truth(run, study.streams[stream]).mean(axis=0)


def _draw_images(axes: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    run = study.run(stream, _baseline(study))
    realisation = int(run["realisation"].values[0])
    shifts = store["shift"].values[realisation]
    starts = np.array([0, *np.flatnonzero(shifts)])
    middles = (starts + np.array([*starts[1:], len(shifts)]) - 1) / 2
    every = -(-len(starts) // EXAMPLES)
    width = 0.8 * every * len(shifts) / len(starts)
    read = provenance.reader(store).task
    lefts = (middles[::every] - width / 2 + 0.5) / len(shifts)
    apart = highlights.spread(lefts, 1.05 * width / len(shifts)) * len(shifts) - 0.5
    for start, left in zip(starts[::every], apart, strict=True):
        task = read(store, [realisation], int(start))
        image = (task.train if task.test is None else task.test).inputs[0, 0]
        inset = axes.inset_axes((left, 0, width, 1), transform=axes.get_xaxis_transform())
        _pictures.show(inset, image)
    axes.set_axis_off()


def _difference(study: StudyResults, stream: str, method: str) -> np.ndarray:
    """Return the accuracy minus that of the baseline [seed, task]."""
    baseline = study.by_task(stream, _baseline(study), METRIC)
    return study.by_task(stream, method, METRIC) - baseline


def _leads(study: StudyResults, stream: str) -> dict[str, Interval]:
    """Return by how many points each other method leads the baseline in the mean over tasks."""
    baseline, within = study.score(stream, _baseline(study), METRIC), statistics.bounds(METRIC)
    return {
        name: statistics.paired_difference(study.score(stream, name, METRIC), baseline, within)
        .times(100)
        for name in study.methods
        if name != _baseline(study)
    }  # fmt: skip


def _draw_lines(axes: Axes, study: StudyResults, stream: str, coloured: list[str]) -> None:
    """Draw the difference by task, with seeds or a band for the first of the `coloured` alone."""
    axes.axhline(0, color="black", lw=1.2)
    within = statistics.of_difference(statistics.bounds(METRIC))
    lines, shown = {}, [np.zeros(1)]
    for method in study.methods:
        if method == _baseline(study):
            continue
        values = _difference(study, stream, method)
        band = statistics.band(values, within).times(100)
        task, style = np.arange(len(band.mean)), highlights.style(study, method, coloured)
        axes.plot(task, band.mean, **style, ms=3.5, lw=1.4)
        lines[method] = band.mean
        if method in coloured[:1]:
            figure_style.draw_spread(axes, task, 100 * values, band, style["color"], 0.13)
            shown += [figure_style.visible_values(100 * values, band), band.low, band.high]
    shown += [lines[name] for name in coloured]
    grey = {study.label(name): line for name, line in lines.items() if name not in coloured}
    _name_outside(axes, highlights.limit(axes, shown, grey))
    last = study.streams[stream].sizes["task"] - 1
    ends = highlights.ends(study, {name: (last, lines[name][-1]) for name in coloured}, coloured)
    highlights.name_ends(axes, ends | {study.label(_baseline(study)): (last, 0.0, "black")})
    axes.set_ylabel(f"accuracy minus {study.label(_baseline(study))}'s\n(percentage points)")
    figure_style.set_title(axes, "b", "by task")


def _name_outside(axes: Axes, names: list[str]) -> None:
    """Name the lines that leave the panel."""
    if names:
        place: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "size": 7}
        axes.text(0.01, 0.01, highlights.beyond(names), color=figure_style.MUTED, **place)


def _draw_means(
    axes: Axes, study: StudyResults, leads: dict[str, Interval], order: list[str]
) -> None:
    """Draw the mean over tasks with its paired interval, the largest on top, and its number."""
    axes.axvline(0, color="black", lw=1.2)
    for row, method in enumerate(order):
        bars = figure_style.error_bars(leads[method])
        style = highlights.point_style(study, method, order[:COLOURED]) | {"ls": "none"}
        axes.errorbar(leads[method].mean, row, xerr=bars, **style, ms=4.5, capsize=2)
        axes.text(
            1.02, row, f"{leads[method].mean:+.1f}", transform=axes.get_yaxis_transform(),
            va="center", size=8, color=highlights.readable(style["color"]),
        )  # fmt: skip
    highlights.label_rows(axes, study, order, order[:COLOURED])
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlabel(f"accuracy minus {study.label(_baseline(study))}'s (percentage points)")
    figure_style.set_title(axes, "a", "mean over tasks")


def _draw_strip(axes: Axes, study: StudyResults, stream: str, detectors: list[str]) -> None:
    """Draw the share of seeds with a shift by task; a row is empty where a method infers none."""
    share = np.full((len(detectors), study.streams[stream].sizes["task"]), np.nan)
    for row, name in enumerate(detectors):
        shifts = _detectors.inferred(study, stream, name)
        if shifts is None:
            place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "size": 7}
            place |= {"ha": "center", "va": "center", "color": figure_style.MUTED}
            axes.text(0.5, row, "no decisions", **place)
        else:
            share[row] = shifts.mean(axis=0)
    extent = (-0.5, share.shape[1] - 0.5, len(detectors) - 0.5, -0.5)
    image = axes.imshow(share, cmap="Greys", vmin=0, vmax=1, aspect="auto", extent=extent)
    axes.set_yticks(range(len(detectors)), [study.label(name) for name in detectors])
    _figure_parts.draw_share_scale(axes, image)
    figure_style.set_title(axes, "c", "inferred shifts, share of seeds")
