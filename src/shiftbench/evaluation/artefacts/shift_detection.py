"""True shifts that each method finds, their delays, false alarms and calibration.

Shifts found, delays and false alarms are those of the most likely history at the end, as defined
in `scoring.detection`; probabilities are those of `scoring.shift_probabilities`. Streams without
shifts are left out; tables have their false alarms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _detectors, _figure_parts
from shiftbench.evaluation.scoring import (
    detection,
    shift_matching,
    shift_probabilities,
    statistics,
)
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("shifts",), refuses=("counts", "blocks"), from_learner=("changes",))

DELAYS = {"at once": "#0b3c5d", "1 later": "#3d7ea6", "2 later": "#8fbcd4", "3 or more": "#d3e4ee"}
"""Delays in tasks and their shades, from dark to light; the last is for all longer delays."""
MISSED = "white"
BINS = 5
FEWEST = 10
"""Fewest tasks in a bin that is drawn; a stream needs `BINS` times as many."""
LABELLED = 12
"""Largest number of true shifts that are numbered one by one."""
SMALL = 7.5
"""Size of the labels of shifts, of which up to `LABELLED` stand side by side."""
JOINED = 3
"""Fewest points that a line joins."""
AFTER, HINDSIGHT = "right after the task", "in hindsight, at the end"


class _Detector(NamedTuple):
    """Shift detection of a method on a stream, for the seeds that did not fail.

    delays: for each seed [shift]; alarms: false alarms per task [seed]; probabilities: by the time
    at which they are computed, those of tasks but the first and the truth, both [seed, task - 1].
    """

    name: str
    delays: list[np.ndarray]
    alarms: np.ndarray
    probabilities: dict[str, tuple[np.ndarray, np.ndarray]]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream with shifts. Raises UserError if no method decides about any."""
    by_stream = _by_stream(study)
    for stream, detectors in by_stream.items():
        if not detectors:
            raise study.lacking(
                "shift-detection", f"a method that decides about shifts on {stream}"
            )
    height = 4.2 + 0.45 * max(map(len, by_stream.values()))
    figure = figure_style.figure(height * len(by_stream), _foot(by_stream), _basis(study))
    for stream, block in figure_style.divide(figure, by_stream):
        _draw_stream(block, study, stream, by_stream[stream])
    return figure


def caption(study: StudyResults) -> str:
    """Say who finds the most, describe the panels, the number of runs and the reductions."""
    of_streams = _by_stream(study)
    messages = [_message(study, *each) for each in of_streams.items()]
    scores = [
        _brier_parts(study, stream, detector)
        for stream, detectors in of_streams.items()
        for detector in detectors
    ]
    brier = "; ".join(filter(None, scores))
    return (
        f"{'. '.join(messages)}. In hindsight: a true shift is found by the first shift that the"
        " most likely history at the end places at its task or later, before the next true one; all"
        f" others are false alarms. {_foot(of_streams)}"
        f" Brier score = reliability - resolution + uncertainty: {brier}. {_basis(study)}"
    )


def _by_stream(study: StudyResults) -> dict[str, list[_Detector]]:
    """Return the detectors of each stream with shifts. Raises UserError without such a stream."""
    changing = _detectors.changing(study)
    if not changing:
        raise study.lacking("shift-detection", "a stream with shifts")
    return {stream: _detectors_of(study, stream) for stream in changing}


def _basis(study: StudyResults) -> str:
    return study.basis(_detectors.changing(study))


def _message(study: StudyResults, stream: str, detectors: list[_Detector]) -> str:
    """Say which methods find the most true shifts, and which raises the fewest alarms."""
    found = _found(detectors)
    best = [each for each in detectors if found[each.name] == max(found.values())]
    names = " and ".join(study.label(each.name) for each in best)
    alarms = " and ".join(dict.fromkeys(f"{each.alarms.mean():.2f}" for each in best))
    share = f"{100 * max(found.values()):.0f} %"
    if len(detectors) == 1:
        return f"{stream}: {names} finds {share} of true shifts, with {alarms} false alarms a task"
    finds = "finds" if len(best) == 1 else "find"
    text = (
        f"{stream}: {names} {finds} the most true shifts, {share}, with {alarms} false alarms a"
        " task"
    )
    fewest = min(detectors, key=lambda each: (each.alarms.mean(), -found[each.name]))
    if fewest in best:
        return text
    return (
        f"{text}; {study.label(fewest.name)} raises the fewest, {fewest.alarms.mean():.2f}, and"
        f" finds {100 * found[fewest.name]:.0f} %"
    )


def _found(detectors: list[_Detector]) -> dict[str, float]:
    """Return the share of all true shifts of all seeds that each method finds."""
    return {each.name: float(np.isfinite(np.concatenate(each.delays)).mean()) for each in detectors}


def _foot(by_stream: Mapping[str, list[_Detector]]) -> str:
    """Return the sentences on bars and bins, which are drawn below the figure."""
    judged = [_judged(each) for detectors in by_stream.values() for each in detectors]
    bars = f"c: mean over seeds, {statistics.described('shift_recall')}."
    if not any(judged):
        return f"{bars} Probabilities are not judged on fewer than {FEWEST * BINS} tasks."
    return (
        f"{bars} d, e: all tasks but the first, of all seeds, in {BINS} bins, without those"
        f" of fewer than {FEWEST} tasks; bars: Wilson's 95 % interval, as if tasks were"
        f" independent; below: tasks in each bin.{_colours(by_stream)}"
    )


def _colours(by_stream: Mapping[str, list[_Detector]]) -> str:
    """Return the sentence on colours; empty where no method is grey."""
    grey = any(len(detectors) > highlights.MOST for detectors in by_stream.values())
    return f" In colour: the {highlights.MOST} methods that find the most." if grey else ""


def _judged(detector: _Detector) -> list[str]:
    """Return the times at which there are probabilities of enough tasks to judge them."""
    return [when for when, (p, _) in detector.probabilities.items() if p.size >= FEWEST * BINS]


def _detectors_of(study: StudyResults, stream: str) -> list[_Detector]:
    """Return the methods that decide about shifts, with a run that did not fail."""
    shifts = _detectors.of_stream(study, stream)
    return [_detector(study, stream, name, inferred) for name, inferred in shifts.items()]


def _detector(study: StudyResults, stream: str, name: str, inferred: np.ndarray) -> _Detector:
    run = study.run(stream, name)
    true = shift_matching.truth(run, study.streams[stream])
    pairs = list(zip(inferred, true, strict=True))
    alarms = [detection.false_alarms(*pair) / (len(pair[0]) - 1) for pair in pairs]
    probabilities = {
        AFTER: shift_probabilities.filtered(run),
        HINDSIGHT: shift_probabilities.smoothed(run),
    }
    return _Detector(
        name,
        [detection.delays(*pair) for pair in pairs],
        np.array(alarms),
        {when: (p, true[:, 1:]) for when, p in probabilities.items() if p is not None},
    )


def _brier_parts(study: StudyResults, stream: str, detector: _Detector) -> str:
    """Return the parts of the Brier score right after each task, in words, or an empty text."""
    if AFTER not in detector.probabilities:
        return ""
    p, true = detector.probabilities[AFTER]
    parts = shift_probabilities.brier_terms(shift_probabilities.reliability(p, true, BINS))
    name = study.label(detector.name) + f" on {stream}" * (len(_detectors.changing(study)) > 1)
    numbers = f"{parts.reliability:.3f} - {parts.resolution:.3f} + {parts.uncertainty:.3f}"
    brier = shift_probabilities.brier(p, true)
    return f"{name} {brier.mean():.3f} = {numbers}"


def _draw_stream(
    block: SubFigure, study: StudyResults, stream: str, detectors: list[_Detector]
) -> None:
    figure_style.set_message(block, _message(study, stream, detectors))
    top, bottom = block.subfigures(2, 1, height_ratios=[0.9 + 0.28 * len(detectors), 3.3])
    shifts = top.subplots()
    _draw_shifts(shifts, detectors)
    figure_style.set_title(shifts, "a", "share of seeds that find each true shift")
    times = [when for when in (AFTER, HINDSIGHT) if any(when in _judged(d) for d in detectors)]
    widths = [2.2] + [1.2] * len(times)
    parts = bottom.subfigures(1, len(widths), squeeze=False, width_ratios=widths)
    left, *right = np.ravel(parts)
    late, false = left.subplots(1, 2, sharey=True)
    _draw_delays(late, detectors)
    coloured = highlights.leaders(_found(detectors))
    _draw_alarms(false, study, detectors, coloured)
    for axes in (shifts, late):
        highlights.label_rows(axes, study, [each.name for each in detectors], coloured)
    late.invert_yaxis()
    figure_style.set_title(late, "b", "delay of true shifts")
    figure_style.set_title(false, "c", "false alarms")
    for letter, part, when in zip("de", right, times, strict=False):
        curve, counts = part.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
        _draw_reliability(curve, counts, study, detectors, when, coloured)
        figure_style.set_title(curve, letter, when)


def _draw_shifts(axes: Axes, detectors: list[_Detector]) -> None:
    """Draw the share of seeds that find the k-th shift, among seeds with at least k shifts."""
    most = max(len(delays) for detector in detectors for delays in detector.delays)
    share = np.full((len(detectors), most), np.nan)
    for row, detector in enumerate(detectors):
        for k in range(most):
            hits = [np.isfinite(delays[k]) for delays in detector.delays if len(delays) > k]
            share[row, k] = np.mean(hits) if hits else np.nan
    x, y = np.arange(most) + 1, np.arange(len(detectors))
    mesh = axes.pcolormesh(x, y, share, cmap="Greys", vmin=0, vmax=1, edgecolors=figure_style.MUTED)
    axes.invert_yaxis()
    axes.set_xlabel("true shift, in the order of time")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _label_shifts(axes, detectors[0].delays, most)
    _figure_parts.draw_share_scale(axes, mesh)


def _label_shifts(axes: Axes, delays: list[np.ndarray], most: int) -> None:
    """Label the numbers of shifts; where some seeds have fewer, say how many seeds have as many."""
    having = [sum(len(each) > k for each in delays) for k in range(most)]
    seeds = ["" if n == len(delays) else f"\n{n} of {len(delays)} seeds" for n in having]
    if most <= LABELLED:
        labels = [f"{k + 1}{text}" for k, text in enumerate(seeds)]
        axes.set_xticks(np.arange(most) + 1, labels, size=SMALL)


def _draw_delays(axes: Axes, detectors: list[_Detector]) -> None:
    """Draw bars from found at once to missed, as shares of all true shifts of all seeds."""
    for row, detector in enumerate(detectors):
        delay = np.concatenate(detector.delays)
        shares = [(delay == number).mean() for number in range(len(DELAYS) - 1)]
        shares += [(delay >= len(DELAYS) - 1).mean(), np.isnan(delay).mean()]
        start = 0.0
        for share, shade in zip(shares, [*DELAYS.values(), MISSED], strict=True):
            share *= 100
            edge = {"edgecolor": figure_style.MUTED, "lw": 0.5, "clip_on": False}
            axes.barh(row, share, left=start, color=shade, **edge)
            if share > 9:
                ink = "white" if shade in list(DELAYS.values())[:2] else figure_style.INK
                middle = (start + share / 2, row)
                axes.annotate(f"{share:.0f}", middle, ha="center", va="center", color=ink, size=7)
            start += share
    axes.set(xlim=(0, 100), xlabel="share of true shifts (%)")
    shades = [*DELAYS.items(), ("missed", MISSED)]
    patches = [Patch(fc=shade, ec=figure_style.MUTED, lw=0.5, label=name) for name, shade in shades]
    axes.legend(
        handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, handlelength=1,
        columnspacing=1,
    )  # fmt: skip


def _draw_alarms(
    axes: Axes, study: StudyResults, detectors: list[_Detector], coloured: list[str]
) -> None:
    for row, detector in enumerate(detectors):
        rate = statistics.interval(detector.alarms, (0.0, 1.0))
        bars = np.nan_to_num(figure_style.error_bars(rate))
        style = highlights.point_style(study, detector.name, coloured)
        axes.errorbar(rate.mean, row, xerr=bars, **style, ms=5, capsize=2, clip_on=False)
    axes.set_xlim(left=0)
    axes.set_xlabel("false alarms a task")
    axes.tick_params(labelleft=False)


def _draw_reliability(
    axes: Axes,
    counts: Axes,
    study: StudyResults,
    detectors: list[_Detector],
    when: str,
    coloured: list[str],
) -> None:
    """Draw the curve of each method with such probabilities, above the tasks in each bin."""
    axes.plot([0, 100], [0, 100], color=figure_style.MUTED, lw=0.8, ls=":")
    calibrated = [detector for detector in detectors if when in _judged(detector)]
    for number, detector in enumerate(calibrated):
        curve = shift_probabilities.reliability(*detector.probabilities[when], BINS)
        style = highlights.style(study, detector.name, coloured)
        # Shifted so that the bars of methods do not cover each other.
        x = 100 * curve.predicted + 0.8 * (number - (len(calibrated) - 1) / 2)
        bars = 100 * np.abs([curve.observed - curve.low, curve.high - curve.observed])
        drawn = curve.count >= FEWEST
        alone = {"ls": "none", "marker": style["marker"] or "o"}
        joined = style if drawn.sum() >= JOINED else style | alone
        shown = bars[:, drawn] if detector.name in coloured else None
        axes.errorbar(
            x[drawn], 100 * curve.observed[drawn], shown, **joined, ms=5, lw=0.8, elinewidth=1.2
        )
        counts.plot(x, curve.count, **style, ms=3, lw=0.8)
    axes.set(xlim=(-3, 103), ylim=(-3, 103), ylabel="tasks with a shift (%)")
    counts.set(yscale="log", ylabel="tasks", xlabel="probability of a shift (%)")
    counts.yaxis.set_major_formatter("{x:g}")
    counts.yaxis.set_minor_formatter(NullFormatter())
