"""Detectors that do not look at the data, as runs that every metric of detection can score.

All they know is how often a stream changes, which no method is told. Where segments are regular, a
clock needs no more, so a method that finds such changes has shown nothing yet.

Each is a beam of one hypothesis (info_shift, info_parent, info_log_weight), which decides at once.
On series with annotations they fire at the values that annotators saw (`annotated_index`).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import segmentation, shift_matching

NEVER, ALWAYS, HALVES = "never", "always", "two halves"
CLOCK, ORACLE = "clock", "clock, best phase"
NAMES = (NEVER, ALWAYS, CLOCK, ORACLE, HALVES)
"""Fires never; always; every mean segment, from the start; as often, from the place that fits the
truth best, which no detector can know; once, in the middle."""
BLIND = tuple(name for name in NAMES if name != ORACLE)
SAYS = (
    f"Detectors that do not look: {NEVER}; {ALWAYS}; {CLOCK}, every mean segment of the truth;"
    f" {ORACLE}, an oracle; {HALVES}, once in the middle."
)
"""Sentence for captions."""


def stores(stream: xr.Dataset, realisation: xr.DataArray) -> dict[str, xr.Dataset]:
    """Return the run of each, by its name, for seeds that saw these realisations [seed]."""
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
    first = np.append(True, point[1:] != point[:-1])  # of several tasks at a point, the first fires
    first[0] = False  # the first task has no past to shift from
    return {name: _run(np.stack(fires[name])[:, point] & first, realisation) for name in NAMES}


def ticks(points: int, period: int, phase: int = 0) -> np.ndarray:
    """Return the points [point] bool at which a clock fires, but for the first."""
    number = np.arange(points)
    return (number > 0) & (number % period == phase)


def best_phase(marks: np.ndarray, period: int) -> int:
    """Return the phase of the ticks that are nearest to the marks [annotator, point], on average.

    No margin of a metric enters. Of equally good ones the first.
    """
    behind = (np.nonzero(marks)[1] - np.arange(period)[:, None]) % period
    return int(np.minimum(behind, period - behind).sum(axis=1).argmin())


def _point(stream: xr.Dataset) -> np.ndarray:
    """Return the point of each task [task]: what annotators saw, or the task itself."""
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
    """Return the run of decisions [realisation, task], for each seed those of its realisation."""
    shift = fires[realisation.values.astype(int)][..., None].astype(float)
    of_beam = {"shift": shift, "parent": np.zeros_like(shift), "log_weight": np.zeros_like(shift)}
    dims = ("seed", "task", "hypothesis")
    infos = {f"info_{name}": (dims, values) for name, values in of_beam.items()}
    return xr.Dataset(infos).assign_coords(realisation.coords).assign(realisation=realisation)
