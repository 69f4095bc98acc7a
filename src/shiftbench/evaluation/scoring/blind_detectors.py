"""Detectors that do not look at the data, as runs that every metric of detection can score.

They know only how often a stream changes, which no method knows. A clock needs no more to find
regular changes, so a method that finds only those has shown nothing yet.

Each detector is a beam of one hypothesis (info_shift, info_parent, info_log_weight), which decides
at once. On annotated series it raises alarms only at values that annotators saw
(`annotated_index`).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import segmentation, shift_matching

NEVER, ALWAYS, HALVES = "never", "always", "two halves"
CLOCK, ORACLE = "clock", "clock, best phase"
NAMES = (NEVER, ALWAYS, CLOCK, ORACLE, HALVES)
"""When each raises alarms: never; at every point; at regular intervals of the mean length of a
segment, from the start; at the same intervals, with the phase that fits the truth best, which no
detector can know; once, in the middle."""
BLIND = tuple(name for name in NAMES if name != ORACLE)
SAYS = (
    f"Detectors that do not look: {NEVER}; {ALWAYS}; {CLOCK}, at the true mean length of a segment;"
    f" {ORACLE}, an oracle; {HALVES}, once in the middle."
)
"""Sentence for captions."""


def stores(stream: xr.Dataset, realisation: xr.DataArray) -> dict[str, xr.Dataset]:
    """Return the run of each detector by name, for seeds that saw these realisations [seed]."""
    point = _point(stream)
    marks, points = _marks(stream, point), int(point.max()) + 1
    period = shift_matching.mean_segment(marks)
    clock = ticks(points, period)
    fires = {
        NEVER: [np.zeros(points, bool)] * len(marks),
        ALWAYS: [np.ones(points, bool)] * len(marks),
        CLOCK: [clock] * len(marks),
        ORACLE: [ticks(points, period, best_phase(one, period)) for one in marks],
        HALVES: [np.arange(points) == points // 2] * len(marks),
    }
    first = np.append(True, point[1:] != point[:-1])  # of a point's tasks, the first has the alarm
    first[0] = False  # the first task has no past to shift from
    return {name: _run(np.stack(fires[name])[:, point] & first, realisation) for name in NAMES}


def ticks(points: int, period: int, phase: int = 0) -> np.ndarray:
    """Return whether a clock raises an alarm at each point [point]; never at the first."""
    number = np.arange(points)
    return (number > 0) & (number % period == phase)


def best_phase(marks: np.ndarray, period: int) -> int:
    """Return the phase of the ticks that are nearest to the marks [annotator, point], on average.

    It does not depend on the margin of any metric. Among equally good phases it is the first.
    """
    behind = (np.nonzero(marks)[1] - np.arange(period)[:, None]) % period
    return int(np.minimum(behind, period - behind).sum(axis=1).argmin())


def _point(stream: xr.Dataset) -> np.ndarray:
    """Return the point of each task [task]: the value that annotators saw, or the task itself."""
    if "annotation" in stream:
        return stream["annotated_index"].values.astype(int)
    return np.arange(stream.sizes["task"])


def _marks(stream: xr.Dataset, point: np.ndarray) -> list[np.ndarray]:
    """Return the true changes of each realisation [annotator, point] bool."""
    realisations = stream.sizes.get("realisation", 1)
    if "annotation" not in stream:
        return list(stream["shift"].values.astype(bool)[:, None])
    return [segmentation.at_points(stream["annotation"].values, point)] * realisations


def _run(fires: np.ndarray, realisation: xr.DataArray) -> xr.Dataset:
    """Return a run in which each seed has the decisions [realisation, task] of its realisation."""
    shift = fires[realisation.values.astype(int)][..., None].astype(float)
    of_beam = {"shift": shift, "parent": np.zeros_like(shift), "log_weight": np.zeros_like(shift)}
    dims = ("seed", "task", "hypothesis")
    infos = {f"info_{name}": (dims, values) for name, values in of_beam.items()}
    return xr.Dataset(infos).assign_coords(realisation.coords).assign(realisation=realisation)
