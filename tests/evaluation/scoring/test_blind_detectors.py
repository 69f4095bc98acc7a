"""Scores of blind detectors follow from arithmetic."""

from __future__ import annotations

import json
from typing import get_args, get_type_hints

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.data.series import _tcpd, series_file
from shiftbench.evaluation.scoring import blind_detectors, segmentation, shift_matching
from shiftbench.evaluation.scoring.blind_detectors import ALWAYS, CLOCK, HALVES, NEVER, ORACLE
from tests.real_files import MIRROR, needs_mirror

DATASETS = [one for one in get_args(get_type_hints(series_file.Settings)["dataset"]) if one]


def stream_of(shift):
    spec = {"stream": "s", "family": "transformed-images", "settings": {}}
    store = xr.Dataset({"shift": (("realisation", "task"), np.asarray(shift, bool))})
    return store.assign_attrs(spec=json.dumps(spec))


def seeds(*realisations):
    numbers = np.array(realisations)
    return xr.DataArray(numbers, {"seed": np.arange(len(numbers))}, ("seed",))


def scores(stream, realisation, *metrics):
    """Return the scores [metric, seed] of each detector."""
    runs = blind_detectors.stores(stream, realisation)
    loaded = [components.load_metric(name).score for name in metrics]
    return {name: np.array([one(run, stream) for one in loaded]) for name, run in runs.items()}


HINDSIGHT = ("shift_precision", "shift_recall", "shift_delay")


def test_a_clock_knows_all_about_regular_segments():
    # 24 tasks in segments of three, as in the paper, have seven shifts.
    stream = stream_of([np.arange(24) % 3 == 0] * 2)
    stream["shift"][:, 0] = False
    metrics = (*HINDSIGHT, "jump_f1", "f1", "cover", "alarm_f1", "false_alarm_rate", "alarm_area")
    got = scores(stream, seeds(0, 1, 0), *metrics)
    for name in (CLOCK, ORACLE):
        np.testing.assert_allclose(got[name].T, [[1, 1, 0, 1, 1, 1, 1, 0, 0]] * 3)
    n, alarms = 7, 23
    always = dict(zip(metrics, got[ALWAYS][:, 0], strict=True))
    assert always["shift_precision"] == pytest.approx(n / alarms)
    assert always["shift_recall"] == 1 and always["shift_delay"] == 0
    assert always["jump_f1"] == always["alarm_f1"] == pytest.approx(2 * n / (n + alarms))
    assert always["false_alarm_rate"] == pytest.approx(1000 * (alarms - n) / alarms)
    never = dict(zip(metrics, got[NEVER][:, 0], strict=True))
    assert np.isnan(never["shift_precision"]) and never["shift_recall"] == 0
    assert never["jump_f1"] == never["alarm_f1"] == 0 and never["alarm_area"] == 1
    # The start counts as a common changepoint, and covers 1 / 8.
    assert never["f1"] == pytest.approx(2 * (1 / 8) / (1 + 1 / 8)) and never["cover"] == 1 / 8


def test_the_phase_is_that_of_the_realisation():
    # Segments of four with a random phase, known only to the oracle.
    shift = np.stack([(np.arange(40) % 4 == phase) & (np.arange(40) > 3) for phase in range(4)])
    stream = stream_of(shift)
    runs = blind_detectors.stores(stream, seeds(2, 0, 3))
    fired = {name: run["info_shift"].values[..., 0].astype(bool) for name, run in runs.items()}
    np.testing.assert_array_equal(fired[ORACLE][:, 4:], shift[[2, 0, 3], 4:])
    assert (fired[CLOCK] == fired[CLOCK][0]).all()
    assert np.flatnonzero(fired[CLOCK][0]).tolist() == list(range(4, 40, 4))
    assert np.flatnonzero(fired[HALVES][0]).tolist() == [20]
    assert not fired[ALWAYS][:, 0].any() and fired[ALWAYS][:, 1:].all()


def test_the_mean_segment_is_that_of_all_realisations():
    marks = [np.zeros((1, 10), bool), np.zeros((1, 10), bool)]
    marks[0][0, [3, 5, 8]] = True
    assert shift_matching.mean_segment(marks) == 4  # 20 points in 5 segments
    assert shift_matching.mean_segment(marks[1:]) == 10


def test_the_best_phase_is_the_nearest_by_brute_force():
    random = np.random.default_rng(1)
    for _ in range(50):
        marks, period = random.random((2, 60)) < 0.08, int(random.integers(2, 12))
        place = np.nonzero(marks)[1]
        every = [np.arange(phase - 60 * period, 200, period) for phase in range(period)]
        mean = [np.abs(place[:, None] - one).min(axis=1).sum() for one in every]
        assert blind_detectors.best_phase(marks, period) == int(np.argmin(mean))


def test_they_fire_once_at_a_value_that_several_tasks_share():
    stream = xr.Dataset(
        {
            "shift": (("realisation", "task"), np.zeros((1, 9), bool)),
            "annotation": (("annotator", "task"), np.arange(9)[None] == [[3], [6]]),
            "annotated_index": ("task", np.arange(9) // 3),
        }
    )
    always = blind_detectors.stores(stream, seeds(0))[ALWAYS]["info_shift"].values[0, :, 0]
    assert np.flatnonzero(always).tolist() == [3, 6]


PUBLISHED = {NEVER: (0.656, 0.559), HALVES: (0.643, 0.611), ALWAYS: (0.104, 0.028)}
"""Mean F1 and cover over the 32 series by TCPDBench's definitions, computed from its annotations
without this package. TCPDBench also publishes those of "never".
"""
OTHERS = {"thirds": (0.578, 0.552), 11: (0.444, 0.215)}


@needs_mirror
def test_scores_on_annotated_series_are_the_known_ones():
    got = {name: [] for name in (*PUBLISHED, *OTHERS)}
    folder = MIRROR / "tcpd" / "datasets"
    mirrored = [name for name in DATASETS if (folder / _tcpd.file_name(name)).exists()]
    assert len(mirrored) == 32
    for name in mirrored:
        store = series_file.build(series_file.Settings(dataset=name, gaps="interpolate"), folder)
        of_all = scores(store, seeds(0), "f1", "cover")
        for one in PUBLISHED:
            got[one].append(of_all[one][:, 0])
        true = store["annotation"].values
        points = true.shape[1]
        thirds = np.isin(np.arange(points), [points // 3, 2 * points // 3])
        for one, fires in {"thirds": thirds, 11: blind_detectors.ticks(points, 11)}.items():
            got[one].append((segmentation.f1(fires, true, 5), segmentation.cover(fires, true)))
    for one, expected in (PUBLISHED | OTHERS).items():
        assert np.mean(got[one], axis=0) == pytest.approx(expected, abs=6e-4), one
