"""Detectors against those of river 0.26.1, on random signals: `make test-peers`."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.methods.detectors import adwin, ddm, page_hinkley
from tests.methods.detectors.watched import watched

pytestmark = pytest.mark.peers


def signals(errors):
    """Yield twenty signals of 3,000 values whose level changes at random positions."""
    for number in range(20):
        rng = np.random.default_rng(number)
        levels = np.repeat(rng.uniform(0.05, 0.8, 6), rng.multinomial(3000, np.full(6, 1 / 6)))
        noise = rng.uniform(size=3000)
        yield (noise < levels) * 1.0 if errors else 5 * levels + noise


def alarms_of(theirs, values):
    """Return the indices of the values at which a river detector raises an alarm."""
    rows = []
    for row, value in enumerate(values):
        theirs.update(value)
        if theirs.drift_detected:
            rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("name", "theirs", "ours", "errors"),
    [
        ("PageHinkley", {}, page_hinkley.build(), False),
        ("PageHinkley", {"threshold": 12}, page_hinkley.build(12.0), True),
        ("ADWIN", {}, adwin.build(), False),
        ("ADWIN", {"clock": 1, "delta": 0.05}, adwin.build(-np.log(0.05), clock=1), True),
        ("DDM", {}, ddm.build(), True),
    ],
)
def test_alarms_are_those_of_river(name, theirs, ours, errors):
    drift = pytest.importorskip("river.drift", reason="is in .venv-peers; see envs/data.txt")
    kind = drift.binary.DDM if name == "DDM" else getattr(drift, name)
    total = 0
    for values in signals(errors):
        expected = alarms_of(kind(**theirs), values)
        assert watched(ours, values).alarms == expected
        total += len(expected)
    assert total > 30
