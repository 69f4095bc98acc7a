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
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _detectors, _pictures
from shiftbench.evaluation.scoring import shift_matching, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(takes=("image",), refuses=("heads",), uses=("accuracy",), study=("baseline",))

METRIC = "accuracy"
EXAMPLES = 12
"""Largest number of segments with an image; more would be too small to see."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without the baseline or the metric."""
    _check(study)
    detectors = _detecting_learners(study)
    height = 5.0 + 0.22 * len(detectors)
    figure = figure_style.figure(height * len(study.streams), caption(study), study.budget())
    for stream, block in figure_style.divide(figure, study.streams):
        _draw_stream(block, study, stream, detectors)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the figure, the number of runs and the reductions."""
    detectors = _detecting_learners(study)
    inferred = (
        "strip below: share of seeds for which the most likely hypothesis at the end places a "
        "shift before this task"
        if detectors
        else "no learner of this study infers shifts"
    )
    interval = f"paired {statistics.described(METRIC)}"
    over_seeds = (
        f"thin lines: the seeds. Right: {interval} of the mean over all tasks"
        if figure_style.has_few_seeds(study)
        else f"bands: {interval}. Right: the same of the mean over all tasks"
    )
    return (
        f"Accuracy minus that of {study.label(_baseline(study))} on the same task and seed. Left: "
        f"mean over seeds, {over_seeds}. "
        "Dotted lines: true shifts; images: the same test image under the map of each segment, "
        f"for the first seed; {inferred}. {study.budget()}"
    )


def _baseline(study: StudyResults) -> str:
    """Return the learner whose accuracy is subtracted. Raises UserError without one."""
    if study.baseline not in study.learners:
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


def _detecting_learners(study: StudyResults) -> list[str]:
    """Return the learners that decide about shifts on the first stream."""
    return list(_detectors.of_stream(study, next(iter(study.streams))))


def _draw_stream(block: SubFigure, study: StudyResults, stream: str, detectors: list[str]) -> None:
    panels = _panels(block, len(detectors))
    true = _true_shifts(study, stream)
    _draw_images(panels["images"], study, stream)
    _draw_lines(panels["lines"], study, stream)
    _draw_means(panels["means"], study, stream)
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
    over_tasks[-1].set_xlabel("task")
    for axes in over_tasks[:-1]:
        axes.tick_params(labelbottom=False)


def _panels(block: SubFigure, detectors: int) -> dict[str, Axes]:
    """Return axes by name, with a strip of shifts only if a learner infers some."""
    rows: list[Any] = [["images", "."], ["lines", "means"]]
    heights = [0.75, 3.4]
    if detectors:
        rows.append(["strip", "means"])
        heights.append(0.22 * detectors)
    return block.subplot_mosaic(rows, width_ratios=[4, 1], height_ratios=heights)


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
    for start, middle in list(zip(starts, middles, strict=True))[::every]:
        task = read(store, [realisation], int(start))
        image = (task.train if task.test is None else task.test).inputs[0, 0]
        inset = axes.inset_axes(
            (middle - width / 2, 0, width, 1), transform=axes.get_xaxis_transform()
        )
        _pictures.show(inset, image)
    axes.set_axis_off()
    figure_style.set_title(axes, "a", figure_style.stream_title(stream, store))


def _difference(study: StudyResults, stream: str, learner: str) -> np.ndarray:
    """Return the accuracy minus that of the baseline [seed, task]."""
    baseline = study.by_task(stream, _baseline(study), METRIC)
    return study.by_task(stream, learner, METRIC) - baseline


def _draw_lines(axes: Axes, study: StudyResults, stream: str) -> None:
    axes.axhline(0, color="black", lw=1.2)
    within = statistics.of_difference(statistics.bounds(METRIC))
    for learner in study.learners:
        if learner == _baseline(study):
            continue
        values = _difference(study, stream, learner)
        band = statistics.band(values, within).times(100)
        task, style = np.arange(len(band.mean)), figure_style.method_style(study, learner)
        axes.plot(task, band.mean, **style, ms=3.5, lw=1.4)
        figure_style.draw_spread(axes, task, 100 * values, band, style["color"], 0.13)
    axes.set_ylabel(f"accuracy minus {study.label(_baseline(study))}'s\n(percentage points)")
    figure_style.set_title(axes, "b", "by task")


def _draw_means(axes: Axes, study: StudyResults, stream: str) -> None:
    """Draw the mean over tasks with its paired interval; the labels are the legend of the lines."""
    within = statistics.bounds(METRIC)
    axes.axvline(0, color="black", lw=1.2)
    for row, learner in enumerate(study.learners):
        if learner == _baseline(study):
            axes.plot(0, row, "D", color="black", ms=4)
            continue
        scores = (study.score(stream, name, METRIC) for name in (learner, _baseline(study)))
        of_seeds = statistics.paired_difference(*scores, within).times(100)
        bars, style = figure_style.error_bars(of_seeds), figure_style.method_style(study, learner)
        axes.errorbar(of_seeds.mean, row, xerr=bars, **style, ms=4.5, capsize=2)
    axes.set_yticks(range(len(study.learners)), [study.label(name) for name in study.learners])
    for label, learner in zip(axes.get_yticklabels(), study.learners, strict=True):
        label.set_color(
            "black"
            if learner == _baseline(study)
            else figure_style.method_style(study, learner)["color"]
        )
        label.set_fontweight("bold")
    axes.invert_yaxis()
    axes.set_xlabel("percentage points")
    figure_style.set_title(axes, "c", "mean over tasks")


def _draw_strip(axes: Axes, study: StudyResults, stream: str, detectors: list[str]) -> None:
    shifts = [_detectors.inferred(study, stream, name) for name in detectors]
    share = np.array([flags.mean(axis=0) for flags in shifts if flags is not None])
    extent = (-0.5, share.shape[1] - 0.5, len(detectors) - 0.5, -0.5)
    image = axes.imshow(share, cmap="Greys", vmin=0, vmax=1, aspect="auto", extent=extent)
    axes.set_yticks(range(len(detectors)), [study.label(name) for name in detectors])
    scale = axes.figure.colorbar(image, cax=axes.inset_axes((1.01, 0, 0.012, 1)), ticks=[0, 1])
    scale.outline.set_visible(False)
    figure_style.set_title(axes, "d", "inferred shifts, share of seeds")
