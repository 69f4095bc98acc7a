"""Accuracy over tasks relative to VCL, with example images and true and inferred shifts.

Fig. 3 of li2021vbs: to account for the different difficulty of tasks, the accuracy of VCL on
the same task and seed is subtracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import provenance
from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _pictures
from shiftbench.evaluation.scoring import segmentation, shift_matching, statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
USES = ("accuracy",)
TAKES = ("image",)
REFUSES = ("heads",)
COMPARES = ("baseline",)

METRIC = "accuracy"
EXAMPLES = 12
"""At most so many segments show an image; more would be too small to see."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, one block a stream; UserError without the baseline or the metric."""
    _check(study)
    detectors = _detectors(study)
    height = 5.0 + 0.22 * len(detectors)
    drawn = figure_style.figure(height * len(study.streams), caption(study), study.budget())
    blocks = drawn.subfigures(len(study.streams), 1, squeeze=False)[:, 0]
    for block, stream in zip(blocks, study.streams, strict=True):
        _draw_stream(block, study, stream, detectors)
    return drawn


def caption(study: StudyResults) -> str:
    """What the figure shows, on how many runs, and what is cut."""
    detectors = _detectors(study)
    inferred = (
        "strip below: share of seeds for which the most likely hypothesis at the end places a "
        "shift before this task"
        if detectors
        else "no learner of this study infers shifts"
    )
    interval = f"paired {statistics.described(METRIC)}"
    over_seeds = (
        f"thin lines: the seeds. Right: {interval} of the mean over all tasks"
        if figure_style.has_few(study)
        else f"bands: {interval}. Right: the same of the mean over all tasks"
    )
    return (
        f"Accuracy minus that of {study.label(_baseline(study))} on the same task and seed. Left: "
        f"mean over seeds, {over_seeds}. "
        "Dotted lines: true shifts; images: the same test image under the map of each segment, "
        f"for the first seed; {inferred}. {study.budget()}"
    )


def _baseline(study: StudyResults) -> str:
    """The learner whose accuracy is subtracted; UserError without one."""
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


def _detectors(study: StudyResults) -> list[str]:
    """The learners that decide about shifts."""
    stream = next(iter(study.streams))
    runs = {name: study.run(stream, name) for name in study.learners}
    return [
        name
        for name, run in runs.items()
        if run.sizes["seed"] and segmentation.inferred(run) is not None
    ]


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
    """Axes by name; a strip of shifts only where a learner infers some."""
    rows: list[Any] = [["images", "."], ["lines", "means"]]
    heights = [0.75, 3.4]
    if detectors:
        rows.append(["strip", "means"])
        heights.append(0.22 * detectors)
    return block.subplot_mosaic(rows, width_ratios=[4, 1], height_ratios=heights)


def _true_shifts(study: StudyResults, stream: str) -> np.ndarray:
    """Share of the seeds [task] whose realisation shifts before the task."""
    return shift_matching.truth(study.run(stream, _baseline(study)), study.streams[stream]).mean(
        axis=0
    )


def _draw_images(axes: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    run = study.run(stream, _baseline(study))
    realisation = int(run["realisation"].values[0])
    own = store["shift"].values[realisation]
    starts = np.array([0, *np.flatnonzero(own)])
    middles = (starts + np.array([*starts[1:], len(own)]) - 1) / 2
    every = -(-len(starts) // EXAMPLES)
    wide = 0.8 * every * len(own) / len(starts)
    read = provenance.reader(store).task
    for start, middle in list(zip(starts, middles, strict=True))[::every]:
        task = read(store, [realisation], int(start))
        image = (task.train if task.test is None else task.test).inputs[0, 0]
        inset = axes.inset_axes(
            (middle - wide / 2, 0, wide, 1), transform=axes.get_xaxis_transform()
        )
        _pictures.show(inset, image)
    axes.set_axis_off()
    figure_style.title(axes, "a", figure_style.named(stream, store))


def _difference(study: StudyResults, stream: str, learner: str) -> np.ndarray:
    """Accuracy [seed, task] above the baseline."""
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
        task, look = np.arange(len(band.mean)), figure_style.look(study, learner)
        axes.plot(task, band.mean, **look, ms=3.5, lw=1.4)
        figure_style.spread(axes, task, 100 * values, band, look["color"], 0.13)
    axes.set_ylabel(f"accuracy minus {study.label(_baseline(study))}'s\n(percentage points)")
    figure_style.title(axes, "b", "by task")


def _draw_means(axes: Axes, study: StudyResults, stream: str) -> None:
    """The mean over tasks with its paired interval; the labels are the legend of the lines."""
    within = statistics.bounds(METRIC)
    axes.axvline(0, color="black", lw=1.2)
    for place, learner in enumerate(study.learners):
        if learner == _baseline(study):
            axes.plot(0, place, "D", color="black", ms=4)
            continue
        scores = (study.score(stream, name, METRIC) for name in (learner, _baseline(study)))
        of_seeds = statistics.paired_difference(*scores, within).times(100)
        reach = [[of_seeds.mean - of_seeds.low], [of_seeds.high - of_seeds.mean]]
        look = figure_style.look(study, learner)
        axes.errorbar(of_seeds.mean, place, xerr=reach, **look, ms=4.5, capsize=2)
    axes.set_yticks(range(len(study.learners)), [study.label(one) for one in study.learners])
    for label, learner in zip(axes.get_yticklabels(), study.learners, strict=True):
        label.set_color(
            "black" if learner == _baseline(study) else figure_style.look(study, learner)["color"]
        )
        label.set_fontweight("bold")
    axes.invert_yaxis()
    axes.set_xlabel("percentage points")
    figure_style.title(axes, "c", "mean over tasks")


def _draw_strip(axes: Axes, study: StudyResults, stream: str, detectors: list[str]) -> None:
    found = [segmentation.inferred(study.run(stream, name)) for name in detectors]
    share = np.array([flags.mean(axis=0) for flags in found if flags is not None])
    extent = (-0.5, share.shape[1] - 0.5, len(detectors) - 0.5, -0.5)
    shown = axes.imshow(share, cmap="Greys", vmin=0, vmax=1, aspect="auto", extent=extent)
    axes.set_yticks(range(len(detectors)), [study.label(one) for one in detectors])
    scale = axes.figure.colorbar(shown, cax=axes.inset_axes((1.01, 0, 0.012, 1)), ticks=[0, 1])
    scale.outline.set_visible(False)
    figure_style.title(axes, "d", "inferred shifts, share of seeds")
