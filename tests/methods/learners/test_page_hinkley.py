"""Page-Hinkley raises the same alarms as river's."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.methods.learners import page_hinkley
from tests.methods.learners.charted import alarms, charted

STEPS = np.arange(1500)
WAVES = (
    np.sin(STEPS)
    + 0.7 * np.sin(1.7 * STEPS * STEPS)
    + 1.5 * ((STEPS >= 400) & (STEPS < 800))
    - 1.0 * (STEPS >= 1100)
)
ERRORS = (7919 * STEPS[:400]) % 100 < np.where(STEPS[:400] < 200, 10, 45)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"threshold": 20.0}, [405, 803, 1110]),
        ({"threshold": 20.0, "direction": "up"}, [405]),
        ({"threshold": 20.0, "direction": "down"}, [828, 1111]),
        ({"threshold": 12.0, "delta": 0.2, "alpha": 0.99, "first": 10}, [405, 802, 1109]),
    ],
)
def test_alarms_are_those_of_river(settings, expected):
    """Recorded from drift.PageHinkley of river 0.26.1 on the same values."""
    assert np.flatnonzero(alarms(page_hinkley, WAVES, **settings)).tolist() == expected


def test_sums_are_those_of_river():
    """Recorded from river 0.26.1, which raises no alarm on these errors with default settings."""
    state, _, info = charted(page_hinkley, ERRORS.astype(float))
    found = [state[name].item() for name in ("up", "low", "down", "high")]
    assert found == pytest.approx([42.58271977, -4.73984889, 46.50396802, 47.05404052], abs=5e-9)
    assert not info["shift"].any()
    assert info["alarm_statistic"][0, -1, 0] == pytest.approx(42.58271977 + 4.73984889)
    assert alarms(page_hinkley, ERRORS.astype(float), threshold=10.0).nonzero()[1].tolist() == [228]


def test_predicts_by_mean_and_variance_of_the_segment():
    values = np.concatenate([WAVES[:420]])
    _, predicted, info = charted(page_hinkley, values, threshold=20.0)
    assert info["shift"][0, :, 0].nonzero()[0].tolist() == [405]
    for end, start in ((300, 0), (405, 0)):
        seen = values[start:end]
        assert predicted.mean[end, 0, 0, 0] == pytest.approx(seen.mean())
        variance = seen.var(ddof=1) * (1 + 1 / len(seen))
        assert predicted.variance[end, 0, 0, 0] == pytest.approx(variance)
    # Only the value that raised the alarm is known of the new segment.
    assert predicted.mean[406, 0, 0, 0] == values[405]
    assert predicted.mean[410, 0, 0, 0] == pytest.approx(values[406:410].mean())


def test_statistic_goes_on_while_a_segment_is_too_short_for_alarms():
    info = charted(page_hinkley, WAVES, threshold=20.0)[2]["alarm_statistic"]
    free = charted(page_hinkley, WAVES, threshold=1e9)[2]["alarm_statistic"]
    until = 405 + 30
    np.testing.assert_array_equal(info[:, :until], free[:, :until])
    assert info[0, until, 0] < 20 < info[0, until - 1, 0]
