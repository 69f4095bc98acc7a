"""Delay against false alarms as the threshold falls, by method beside detectors that do not look.

The curve of a method is from `scoring.alarms.sweep`, with thresholds that all seeds share. Its
height is the least delay of all thresholds with at most that many false alarms. A marker shows the
alarms that the method raises by itself, at a probability of one half or by its own decision.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best, _detectors, _series
from shiftbench.evaluation.metrics import alarms as online
from shiftbench.evaluation.scoring import alarms, blind_detectors, statistics
from shiftbench.evaluation.scoring.alarms import Curve
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("shifts",), refuses=("counts", "blocks"), from_learner=("changes",))

HEIGHT = 2.9
READ = 10
"""Number of false alarms in 1,000 tasks at which the title compares delays."""
FEWEST, MOST = 0.1, 1000.0
"""Ends of the axis of false alarms; smaller numbers are drawn at its left end."""
MARKERS = dict(zip(blind_detectors.NAMES, ("<", ">", "*", "P", "X"), strict=True))
SIZES = {blind_detectors.CLOCK: 11.0, blind_detectors.HALVES: 5.0}
"""Sizes of markers that coincide where streams have two segments: both remain visible."""
FULL = 0.9
"""Share of the largest rate of false alarms at which lines are named; all meet at the largest."""
METRICS = ("false_alarm_rate", "restricted_delay")
ROWS = {row.name: row for row in online.METRICS}


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one panel per stream with shifts. Raises UserError if no method decides about any."""
    if not _detectors.changing(study):
        raise study.lacking("alarm-curves", "a stream with shifts")
    if not any(_detectors.runs(study, stream) for stream in study.streams):
        raise study.lacking("alarm-curves", "a method that decides about shifts")
    titles = {_series.short_name(study, stream): stream for stream in _detectors.changing(study)}
    return figure_style.panel_per_stream(
        titles,
        HEIGHT,
        message(study),
        _foot(study),
        study.basis(_detectors.changing(study)),
        lambda axes, title: _draw_stream(axes, study, titles[title]),
    )


def caption(study: StudyResults) -> str:
    """Say who alarms soonest, describe the lines, the number of runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which method has the smallest delay at `READ` false alarms, or on how many streams."""
    delays = {_series.short_name(study, stream): of for stream, of in _delays(study).items()}
    what = f"delay (at its best threshold with at most {READ} false alarms in 1,000 tasks)"
    return _best.smallest(study, delays, what, unit=" tasks")


def _delays(study: StudyResults) -> dict[str, dict[str, np.ndarray]]:
    """Return the delays [seed] of each method that `_read` gives, by stream with shifts."""
    return {
        stream: {
            name: _read(study, study.run(stream, name), curve) for name, curve in curves.items()
        }
        for stream, curves in _curves(study).items()
    }


def _read(study: StudyResults, run: xr.Dataset, curve: Curve) -> np.ndarray:
    """Return the delays [seed] at the threshold with the least mean delay at `READ` false alarms.

    NaN for failed seeds, and for all where no threshold has so few false alarms.
    """
    allowed = curve.rate.mean(axis=1) <= READ
    delay = np.where(allowed, np.nanmean(curve.delay, axis=1), np.inf)
    values = curve.delay[delay.argmin()] if allowed.any() else np.full_like(curve.delay[0], np.nan)
    return study.on_seeds(run, values)


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        "Down and left is better. Lines: the least delay over thresholds with at most the false"
        f" alarms on the x axis, mean over seeds{_grey(study)}. Markers: alarms as raised, with"
        f" {statistics.described(*METRICS)}. Delay: mean number of tasks from a shift to the first"
        " alarm (Kaplan-Meier); a missed shift counts with the delay at the dotted line."
        f" {blind_detectors.SAYS} {study.basis(_detectors.changing(study))}"
    )


def _grey(study: StudyResults) -> str:
    """Return the words on the methods whose lines are grey; empty without one."""
    known = {name for curves in _curves(study).values() for name in curves}
    others = [name for name in study.methods if name in known - set(_coloured(study))]
    return f"; grey: {', '.join(map(study.label, others))}" if others else ""


def _coloured(study: StudyResults) -> list[str]:
    """Return the methods to colour: those with the least delay at `READ` false alarms.

    First on how many streams, then on average; a method without such a threshold comes last.
    """
    delays = {
        stream: {name: np.nan_to_num(np.nanmean(each), nan=np.inf) for name, each in of.items()}
        for stream, of in _delays(study).items()
    }
    least = {stream: min(of.values()) for stream, of in delays.items() if of}

    def order(name: str) -> tuple[int, float]:
        own = {stream: of[name] for stream, of in delays.items() if name in of}
        first = sum(value <= least[stream] for stream, value in own.items())
        return -first, float(np.mean(list(own.values())))

    known = {name for of in delays.values() for name in of}
    return sorted([name for name in study.methods if name in known], key=order)[: highlights.MOST]


def _draw_stream(axes: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    window = alarms.horizon(store).window
    axes.axhline(window, color=figure_style.MUTED, lw=0.8, ls=":")
    coloured, ends = _coloured(study), {}
    lines = {name: _frontier(curve) for name, curve in _curves(study)[stream].items()}
    last = max((rate[:-1].max() for rate, _ in lines.values() if len(rate) > 1), default=MOST)
    for name, run in _detectors.runs(study, stream).items():
        style = highlights.style(study, name, coloured)
        rate, delay = lines[name]
        line = {key: style[key] for key in ("color", "ls", "zorder")}
        axes.plot(rate, delay, **line, drawstyle="steps-post", lw=1.5)
        if name in coloured:
            ends[name] = (last, delay[rate < FULL * last][-1])
            _draw_point(axes, study, stream, run, ms=6, **style | {"ls": ""})
    for name, run in _detectors.blind(study, stream).items():
        style = {"color": figure_style.MUTED, "marker": MARKERS[name], "mfc": "white"}
        size = SIZES.get(name, 7.0)
        _draw_point(axes, study, stream, run, label=name, ms=size, ls="", zorder=3, **style)
    axes.set(
        xscale="log", xlim=(0.8 * FEWEST, 1.2 * MOST), ylim=(-0.04 * window, 1.08 * window),
        xlabel="false alarms in 1,000 tasks", ylabel=f"delay (at most {window} tasks)",
    )  # fmt: skip
    axes.set_xticks([FEWEST, 1, 10, 100, MOST], ["≤ 0.1", "1", "10", "100", "1,000"])
    highlights.name_ends(axes, highlights.ends(study, ends, coloured))


@lru_cache(maxsize=1)  # the figure and its caption need them, and they take seconds
def _curves(study: StudyResults) -> dict[str, dict[str, Curve]]:
    """Return delay and false alarms of each method by stream with shifts."""
    found: dict[str, dict[str, Curve]] = {}
    for stream in _detectors.changing(study):
        runs = _detectors.runs(study, stream)
        swept = {
            name: alarms.sweep(run, study.streams[stream], pooled=True)
            for name, run in runs.items()
        }
        found[stream] = {name: curve for name, curve in swept.items() if curve}
    return found


def _frontier(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Return false alarms, rising, and the least delay with at most that many [threshold]."""
    rate, delay = np.mean(curve.rate, axis=1), np.nanmean(curve.delay, axis=1)
    order = np.argsort(rate, kind="stable")
    least = np.minimum.accumulate(delay[order])
    return np.append(_shown(rate[order]), MOST), np.append(least, least[-1])


def _draw_point(
    axes: Axes, study: StudyResults, stream: str, run: xr.Dataset, **style: object
) -> None:
    """Draw the alarms as they are raised, with intervals over seeds in both directions."""
    rate, delay = (
        statistics.interval(
            _detectors.scored(study, stream, run, ROWS[metric]), statistics.bounds(metric)
        )
        for metric in METRICS
    )
    ends = np.array([[rate.low], [rate.high]])
    bars = np.nan_to_num(np.abs(_shown(ends) - _shown(rate.mean)))
    delay = _detectors.within_window(delay, alarms.horizon(study.streams[stream]).window)
    axes.errorbar(
        _shown(rate.mean), delay.mean, np.nan_to_num(figure_style.error_bars(delay)), bars,
        elinewidth=0.9, capsize=1.5, clip_on=False, **style,
    )  # fmt: skip


def _shown(rate: np.ndarray | float) -> np.ndarray:
    return np.clip(rate, FEWEST, MOST)
