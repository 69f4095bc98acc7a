"""Segmentations with the interface of ruptures, in .venv-peers: `make test-peers`."""

from __future__ import annotations

import numpy as np
import pytest

import shiftbench as sb

pytestmark = pytest.mark.peers
ruptures = pytest.importorskip("ruptures", reason="is in .venv-peers; see envs/peers.txt")

from ruptures import metrics  # noqa: E402
from ruptures.base import BaseEstimator  # noqa: E402

from shiftbench.adapters.ruptures import Segmentation  # noqa: E402


@pytest.mark.parametrize("series", [1, 2])
def test_planted_changes_are_found_by_the_metrics_of_ruptures(series) -> None:
    signal, ends = ruptures.pw_constant(200, series, n_bkps=3, noise_std=0.3, seed=1)
    found = Segmentation().fit_predict(signal)
    assert metrics.precision_recall(ends, found, margin=5) == (1.0, 1.0)
    assert metrics.randindex(ends, found) > 0.98
    figure, _ = ruptures.display(signal, ends, found)
    assert len(figure.axes) == series


def test_ends_are_positions_of_changes_and_the_length() -> None:
    levels = np.random.default_rng(3).normal(size=120) + np.repeat([0.0, 6.0, -2.0], 40)
    made = Segmentation("bocpd", {"a0": 2.0, "bayes-linear.b0": 1.0})
    assert isinstance(made, BaseEstimator)
    frame = sb.changepoints(levels, "bocpd", a0=2.0).frame
    ends = [*frame["position"], 120]
    assert made.fit(levels).predict() == ends == made.fit_predict(levels)
    least = float(frame["probability"].min())
    kept = frame["position"][frame["probability"] > least].tolist()
    assert made.predict(threshold=np.nextafter(least, 1)) == [*kept, 120]
    assert made.predict(threshold=2) == [120]


def test_without_a_signal_there_is_no_segmentation() -> None:
    with pytest.raises(ValueError, match="call fit, or fit_predict"):
        Segmentation().predict()


@pytest.mark.parametrize("given", [{"pen": 10}, {"n_bkps": 3}, {"epsilon": 1.0}, 10, 0.5])
def test_what_ruptures_takes_to_choose_the_number_of_changes_is_refused(given) -> None:
    """A penalty is no threshold of probabilities, though both may be given first."""
    args, named = ((), given) if isinstance(given, dict) else ((given,), {})
    found = Segmentation("bocpd").fit(np.repeat([0.0, 6.0], 40))
    for call in (found.predict, lambda *a, **b: found.fit_predict(np.arange(9.0), *a, **b)):
        with pytest.raises(ValueError, match=r"chooses the number of changes, .* threshold=0\.9"):
            call(*args, **named)
