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
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best, _detectors, _series
from shiftbench.evaluation.scoring import alarms, blind_detectors, statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("shifts",), refuses=("counts", "blocks"), from_learner=("changes",))

HEIGHT = 2.7
READ = 10
"""Number of false alarms in 1,000 tasks at which the title compares delays."""
FEWEST, MOST = 0.1, 1000.0
"""Ends of the axis of false alarms; smaller numbers are drawn at its left end."""
MARKERS = dict(zip(blind_detectors.NAMES, ("<", ">", "*", "P", "X"), strict=True))
METRICS = ("false_alarm_rate", "restricted_delay")


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one panel per stream with shifts. Raises UserError if no learner decides about any."""
    if not any(_detectors.runs(study, stream) for stream in study.streams):
        raise study.lacking("alarm-curves", "a learner that decides about shifts")
    titles = {_series.short_name(study, stream): stream for stream in _changing(study)}
    return figure_style.panel_per_stream(
        titles,
        HEIGHT,
        message(study),
        _foot(study),
        study.basis(),
        lambda axes, title: _draw_stream(axes, study, titles[title]),
    )


def caption(study: StudyResults) -> str:
    """Say who alarms soonest, describe the lines, the number of runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which method has the smallest delay at `READ` false alarms, or on how many streams."""
    delays = {
        _series.short_name(study, stream): {
            name: float(delay[rate <= READ].min()) if (rate <= READ).any() else np.nan
            for name, (rate, delay) in curves.items()
        }
        for stream, curves in _frontiers(study).items()
    }
    return _best.smallest(study, delays, f"delay at {READ} false alarms in 1,000 tasks")


def _changing(study: StudyResults) -> list[str]:
    """Return the streams with shifts.

    Without a shift there is no delay; tables have the false alarms of such streams.
    """
    return [stream for stream, store in study.streams.items() if store["shift"].values.any()]


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        "Down and left is better. Lines: the least delay that any threshold reaches with at most so"
        " many false alarms, means over seeds. Markers: alarms as a method raises them, with"
        f" {statistics.described(*METRICS)}. Delay: mean of the tasks until the first alarm after a"
        " shift, of which no more count than the axis says (grey line: all missed), by"
        " Kaplan-Meier."
        f" {blind_detectors.SAYS} {study.basis()}"
    )


def _draw_stream(axes: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    window = alarms.horizon(store).window
    axes.axhline(window, color=figure_style.MUTED, lw=0.8, ls=":")
    for name, run in _detectors.runs(study, stream).items():
        style = figure_style.method_style(study, name)
        axes.plot(
            *_frontiers(study)[stream][name], color=style["color"], drawstyle="steps-post", lw=1.5
        )
        _draw_point(axes, study, stream, run, label=study.label(name), ms=6, **style)
    for name, run in _detectors.blind(study, stream).items():
        style = {"color": figure_style.MUTED, "marker": MARKERS[name], "mfc": "white"}
        _draw_point(axes, study, stream, run, label=name, ms=7, **style)
    axes.set(
        xscale="log", xlim=(0.8 * FEWEST, 1.2 * MOST), ylim=(-0.04 * window, 1.08 * window),
        xlabel="false alarms in 1,000 tasks", ylabel=f"delay (tasks, at most {window})",
    )  # fmt: skip
    axes.set_xticks([FEWEST, 1, 10, 100, MOST], ["≤ 0.1", "1", "10", "100", "1,000"])


@lru_cache(maxsize=1)  # the figure and its caption need them, and they take seconds
def _frontiers(study: StudyResults) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return the curve of each learner by stream with shifts."""
    return {
        stream: {
            name: _frontier(run, study.streams[stream])
            for name, run in _detectors.runs(study, stream).items()
        }
        for stream in _changing(study)
    }


def _frontier(run: xr.Dataset, store: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return false alarms, rising, and the least delay with at most that many [threshold]."""
    curve = alarms.sweep(run, store, pooled=True)
    assert curve
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
            _detectors.scored(study, stream, run, metric), statistics.bounds(metric)
        )
        for metric in METRICS
    )
    ends = np.array([[rate.low], [rate.high]])
    bars = np.nan_to_num(np.abs(_shown(ends) - _shown(rate.mean)))
    axes.errorbar(
        _shown(rate.mean), delay.mean, np.nan_to_num(figure_style.error_bars(delay)), bars,
        ls="", elinewidth=0.9, capsize=1.5, clip_on=False, zorder=3, **style,
    )  # fmt: skip


def _shown(rate: np.ndarray | float) -> np.ndarray:
    return np.clip(rate, FEWEST, MOST)
