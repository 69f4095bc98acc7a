"""Which true shifts each learner finds, how late, what it finds that is none, and how calibrated.

Finds, delays and false alarms are those of the most likely history at the end (what counts as one:
`scoring.detection`); the probabilities are those of `scoring.shift_probabilities`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import (
    detection,
    segmentation,
    shift_matching,
    shift_probabilities,
    statistics,
)
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
REQUIRES = ("shifts",)
REFUSES = ("counts", "blocks")
FROM = ("changes",)

DELAYS = {"at once": "#0b3c5d", "1 later": "#3d7ea6", "2 later": "#8fbcd4", "3 or more": "#d3e4ee"}
"""Delays in tasks and their shades, dark to light, the last of all that are longer."""
MISSED = "white"
BINS = 5
AFTER, HINDSIGHT = "right after the task", "in hindsight, at the end"


class _Detector(NamedTuple):
    """What a learner found on a stream, of the seeds that did not fail.

    delays: of each seed [shift]; alarms: false ones a task [seed]; probabilities: by when they
    are held, of tasks but the first [seed, task - 1], with what is true.
    """

    name: str
    delays: list[np.ndarray]
    alarms: np.ndarray
    probabilities: dict[str, tuple[np.ndarray, np.ndarray]]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """One block a stream; UserError where no learner decides about shifts."""
    blocks = {stream: _detectors(study, stream) for stream in study.streams}
    most = max(map(len, blocks.values()))
    drawn = figure_style.figure((4.2 + 0.45 * most) * len(blocks), caption(study), study.budget())
    parts = drawn.subfigures(len(blocks), 1, squeeze=False)[:, 0]
    for part, (stream, detectors) in zip(parts, blocks.items(), strict=True):
        _draw_stream(part, study, stream, detectors)
    return drawn


def caption(study: StudyResults) -> str:
    """What is found, what the probabilities are of, on how many runs, and what is cut."""
    scores = [
        _scores(study, stream, one) for stream in study.streams for one in _all(study, stream)
    ]
    told = "; ".join(text for text in scores if text)
    return (
        "A true shift is found by the first shift that the most likely history at the end places at"
        " its task or later, before the next true one; all others are false alarms. c: mean over"
        f" seeds, {statistics.described('shift_recall')}. d, e: all tasks but the first, of all"
        f" seeds, in {BINS} bins; bars: Wilson's 95 % interval, as if tasks were independent;"
        f" below: tasks in each bin. Brier score = reliability - resolution + uncertainty: {told}."
        f" {study.budget()}"
    )


def _all(study: StudyResults, stream: str) -> list[_Detector]:
    runs = {name: study.run(stream, name) for name in study.learners}
    found = {
        name: segmentation.inferred(run) for name, run in runs.items() if run.sizes["seed"] > 0
    }
    return [
        _detector(study, stream, name, inferred)
        for name, inferred in found.items()
        if inferred is not None
    ]


def _detectors(study: StudyResults, stream: str) -> list[_Detector]:
    """The learners that decide about shifts, with a run that did not fail."""
    found = _all(study, stream)
    if not found:
        raise study.lacking("shift-detection", f"a learner that decides about shifts on {stream}")
    return found


def _detector(study: StudyResults, stream: str, name: str, inferred: np.ndarray) -> _Detector:
    run = study.run(stream, name)
    true = shift_matching.truth(run, study.streams[stream])
    pairs = list(zip(inferred, true, strict=True))
    alarms = [detection.false_alarms(*pair) / (len(pair[0]) - 1) for pair in pairs]
    held = {
        AFTER: shift_probabilities.filtered(run),
        HINDSIGHT: shift_probabilities.smoothed(run),
    }
    return _Detector(
        name,
        [detection.delays(*pair) for pair in pairs],
        np.array(alarms),
        {when: (p, true[:, 1:]) for when, p in held.items() if p is not None},
    )


def _scores(study: StudyResults, stream: str, detector: _Detector) -> str:
    """The parts of the Brier score right after each task, in words; empty without them."""
    if AFTER not in detector.probabilities:
        return ""
    p, true = detector.probabilities[AFTER]
    found = shift_probabilities.parts(shift_probabilities.reliability(p, true, BINS))
    where = f"{study.label(detector.name)} on {stream}" if len(study.streams) > 1 else ""
    numbers = f"{found.reliability:.3f} - {found.resolution:.3f} + {found.uncertainty:.3f}"
    brier = shift_probabilities.brier(*detector.probabilities[AFTER])
    return f"{where or study.label(detector.name)} {brier.mean():.3f} = {numbers}"


def _draw_stream(
    block: SubFigure, study: StudyResults, stream: str, detectors: list[_Detector]
) -> None:
    top, bottom = block.subfigures(2, 1, height_ratios=[0.7 + 0.28 * len(detectors), 3.3])
    labels = [study.label(one.name) for one in detectors]
    shifts = top.subplots()
    _draw_shifts(shifts, detectors)
    figure_style.title(shifts, "a", f"{stream}: share of seeds that find each true shift")
    held = [when for when in (AFTER, HINDSIGHT) if any(when in d.probabilities for d in detectors)]
    left, *right = bottom.subfigures(1, 1 + len(held), width_ratios=[2.2] + [1.2] * len(held))
    late, false = left.subplots(1, 2, sharey=True)
    _draw_delays(late, detectors)
    _draw_alarms(false, study, detectors)
    for axes in (shifts, late):
        axes.set_yticks(range(len(labels)), labels)
        for label, one in zip(axes.get_yticklabels(), detectors, strict=True):
            label.set(color=figure_style.look(study, one.name)["color"], fontweight="bold")
    late.invert_yaxis()
    figure_style.title(late, "b", "delay of true shifts")
    figure_style.title(false, "c", "false alarms")
    for letter, part, when in zip("de", right, held, strict=False):
        curve, counts = part.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
        _draw_reliability(curve, counts, study, detectors, when)
        figure_style.title(curve, letter, when)


def _draw_shifts(axes: Axes, detectors: list[_Detector]) -> None:
    """Share of seeds that find the k-th shift, of those that have so many."""
    most = max(len(one) for detector in detectors for one in detector.delays)
    share = np.full((len(detectors), most), np.nan)
    for row, detector in enumerate(detectors):
        for k in range(most):
            found = [np.isfinite(one[k]) for one in detector.delays if len(one) > k]
            share[row, k] = np.mean(found) if found else np.nan
    at = np.arange(most) + 1, np.arange(len(detectors))
    shown = axes.pcolormesh(*at, share, cmap="Greys", vmin=0, vmax=1, edgecolors=figure_style.MUTED)
    axes.invert_yaxis()
    axes.set_xlabel("true shift, in the order of time")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    scale = axes.figure.colorbar(shown, cax=axes.inset_axes((1.01, 0, 0.012, 1)), ticks=[0, 1])
    scale.outline.set_visible(False)


def _draw_delays(axes: Axes, detectors: list[_Detector]) -> None:
    """Bars from found at once to missed, as shares of all true shifts of all seeds."""
    for row, detector in enumerate(detectors):
        delay = np.concatenate(detector.delays)
        of_each = [(delay == number).mean() for number in range(len(DELAYS) - 1)]
        of_each += [(delay >= len(DELAYS) - 1).mean(), np.isnan(delay).mean()]
        start = 0.0
        for share, shade in zip(of_each, [*DELAYS.values(), MISSED], strict=True):
            axes.barh(row, share, left=start, color=shade, edgecolor=figure_style.MUTED, lw=0.5)
            if share > 0.09:
                ink = "white" if shade in list(DELAYS.values())[:2] else figure_style.INK
                where = (start + share / 2, row)
                axes.annotate(
                    f"{100 * share:.0f}", where, ha="center", va="center", color=ink, size=7
                )
            start += share
    axes.set(xlim=(0, 1), xlabel="share of true shifts (numbers: %)")
    shades = [*DELAYS.items(), ("missed", MISSED)]
    patches = [Patch(fc=shade, ec=figure_style.MUTED, lw=0.5, label=name) for name, shade in shades]
    axes.legend(
        handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, handlelength=1,
        columnspacing=1,
    )  # fmt: skip


def _draw_alarms(axes: Axes, study: StudyResults, detectors: list[_Detector]) -> None:
    for row, detector in enumerate(detectors):
        rate = statistics.interval(detector.alarms, (0.0, 1.0))
        reach = np.nan_to_num([[rate.mean - rate.low], [rate.high - rate.mean]])
        look = figure_style.look(study, detector.name)
        axes.errorbar(rate.mean, row, xerr=reach, **look, ms=5, capsize=2, clip_on=False)
    axes.set_xlim(left=0)
    axes.set_xlabel("false alarms a task")
    axes.tick_params(labelleft=False)


def _draw_reliability(
    axes: Axes, counts: Axes, study: StudyResults, detectors: list[_Detector], when: str
) -> None:
    """The curve of each learner that holds such probabilities; below, tasks in each bin."""
    axes.plot([0, 1], [0, 1], color=figure_style.MUTED, lw=0.8, ls=":")
    shown = [one for one in detectors if when in one.probabilities]
    for place, detector in enumerate(shown):
        curve = shift_probabilities.reliability(*detector.probabilities[when], BINS)
        look = figure_style.look(study, detector.name)
        # Moved aside a little, so that the bars of learners do not cover each other.
        at = curve.predicted + 0.008 * (place - (len(shown) - 1) / 2)
        reach = np.abs([curve.observed - curve.low, curve.high - curve.observed])
        axes.errorbar(at, curve.observed, reach, **look, ms=5, lw=0.8, elinewidth=1.2)
        counts.plot(at, curve.count, **look, ms=3, lw=0.8)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), ylabel="share of tasks with a shift")
    counts.set(yscale="log", ylabel="tasks", xlabel="probability of a shift")
    counts.yaxis.set_major_formatter("{x:g}")
    counts.yaxis.set_minor_formatter(NullFormatter())
