"""Detected shifts, delays and false alarms; shift probabilities and their calibration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from shiftbench.config import components
from shiftbench.evaluation.scoring import detection, shift_probabilities
from tests.evaluation.scoring import stores
from tests.evaluation.scoring.stores import flags

shift_brier = components.load_metric("shift_brier")
shift_delay = components.load_metric("shift_delay")


CASES = [
    ((3, 6), [0, 0], 0),
    ((4, 8), [1, 2], 0),
    ((2, 5), [2, np.nan], 1),  # before the first true shift: a false alarm
    ((3, 4, 5), [0, np.nan], 2),  # after a detection: false alarms
    ((), [np.nan, np.nan], 0),
]


@pytest.mark.parametrize("places, delays, alarms", CASES)
def test_delays_and_false_alarms(places, delays, alarms):
    inferred, true = flags(*places), flags(3, 6)
    np.testing.assert_array_equal(detection.delays(inferred, true), delays)
    assert detection.false_alarms(inferred, true) == alarms
    assert detection.false_alarms(inferred, flags()) == len(places)


@pytest.fixture(scope="module")
def images():
    return stores.image_stream()


def decided(stream, *places):
    """Return a run of one certain hypothesis with a seed per set of places; shifts are 3 and 6."""
    shift = np.stack([flags(*one) for one in places])[..., None].astype(float)
    infos = {"parent": np.zeros_like(shift), "shift": shift, "log_weight": np.zeros_like(shift)}
    score = np.zeros((1, len(places), 9))
    return stores.run_store(score, ["accuracy"], stream, "vbs", [["x", {}]], infos)


def test_metrics_of_certain_hypotheses(images):
    run = decided(images, (3, 6), (4, 8), (2,), (5,), ())
    delay = shift_delay.score(run, images)
    assert delay[[0, 1, 3]] == pytest.approx([0, 1.5, 2])
    assert np.isnan(delay[[2, 4]]).all()
    wrong = np.array([0, 4, 3, 3, 2])  # misclassified tasks, out of 8
    assert shift_brier.score(run, images) == pytest.approx(wrong / 8)


def test_without_decisions_there_is_no_score(images):
    run = stores.image_run(images, "vcl", 0.8)
    for metric in (shift_delay, shift_brier):
        assert np.isnan(metric.score(run, images)).all()
        assert metric.score(run.isel(seed=[]), images).shape == (0,)


def test_run_lengths_say_how_probable_a_shift_is(images):
    length = np.tile([0.0, 1.0, 2.0], (1, 9, 1)).clip(max=np.arange(9)[:, None])
    weight = np.tile([0.2, 0.3, 0.5], (1, 9, 1))
    infos = {"run_length": length, "log_weight": np.log(weight), "map_log_joint": np.log(weight)}
    run = stores.run_store(np.zeros((1, 1, 9)), ["accuracy"], images, "bocpd", [["x", {}]], infos)
    assert shift_probabilities.filtered(run) == pytest.approx(np.full((1, 8), 0.2))
    assert shift_probabilities.smoothed(run) is None
    assert shift_brier.score(run, images) == pytest.approx([(2 * 0.64 + 6 * 0.04) / 8])


TASKS = 6


def of_histories(values, n):
    """Return P(s_n-1 = 1) after n values, and P(s_t = 1) for each t, from all histories."""
    log_joint, every = [], list(itertools.product([0, 1], repeat=n - 1))
    for history in every:
        mean, variance, total = 0.0, 1.0, 0.0
        for t, x in enumerate(values[:n]):
            if t:
                total += -np.logaddexp(0, (1 - 2 * history[t - 1]) * stores.LOG_ODDS)
                variance += history[t - 1]
            spread = variance + 0.25
            total += -0.5 * (np.log(2 * np.pi * spread) + (x - mean) ** 2 / spread)
            mean += variance / spread * (x - mean)
            variance *= 0.25 / spread
        log_joint.append(total)
    weight = np.exp(np.array(log_joint) - logsumexp(log_joint))
    return (weight[:, None] * np.array(every)).sum(axis=0)


def test_a_beam_that_keeps_all_says_the_exact_probabilities():
    stream = stores.toy_stream(2).isel(task=slice(TASKS))
    run = stores.toy_run(stream, "wide", 2, size=2 ** (TASKS - 1), weights="bayes")
    filtered, smoothed = shift_probabilities.filtered(run), shift_probabilities.smoothed(run)
    for s in range(2):
        values = stream["value"].values[s]
        exact = [of_histories(values, n)[-1] for n in range(2, TASKS + 1)]
        np.testing.assert_allclose(filtered[s], exact, atol=1e-9)
        np.testing.assert_allclose(smoothed[s], of_histories(values, TASKS), atol=1e-9)


def test_reliability_of_what_is_calibrated_and_of_what_is_not():
    random = np.random.default_rng(1)
    p = random.random((200, 50))
    happened = random.random(p.shape) < p
    curve = shift_probabilities.reliability(p, happened, 10)
    assert curve.count.sum() == p.size and len(curve.count) == 10
    assert ((curve.low < curve.predicted) & (curve.predicted < curve.high)).mean() >= 0.8
    assert shift_probabilities.brier_terms(curve).reliability < 1e-3
    far = shift_probabilities.brier_terms(shift_probabilities.reliability(p**3, happened, 10))
    assert far.reliability > 0.02


def test_the_parts_add_up_to_the_brier_score():
    random = np.random.default_rng(2)
    p = random.choice([0.05, 0.35, 0.85], (3, 40))  # one value per bin
    happened = random.random(p.shape) < 0.4
    parts = shift_probabilities.brier_terms(shift_probabilities.reliability(p, happened, 5))
    total = parts.reliability - parts.resolution + parts.uncertainty
    assert total == pytest.approx(shift_probabilities.brier(p, happened).mean())


def test_empty_bins_are_left_out():
    curve = shift_probabilities.reliability(np.array([0.0, 1.0, 1.0]), np.array([0, 1, 0]), 10)
    assert curve.predicted.tolist() == [0, 1] and curve.observed.tolist() == [0, 0.5]
    assert curve.count.tolist() == [1, 2]
