"""Exact jumps against brute force over all sequences, with dense Gaussian algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from shiftbench.core.errors import UserError
from shiftbench.evaluation.theory import exact_segmentation
from shiftbench.evaluation.theory.exact_segmentation import JumpModel, most_likely_jumps
from tests.evaluation.scoring import stores

MODEL = JumpModel(
    noise=0.25, prior_mean=0.0, prior_variance=1.0, jump_variance=1.0, log_odds=stores.LOG_ODDS
)


def log_joint(x, jumps, model):
    """Return log p(x, jumps) from the joint covariance: level = prior + sum of past jumps."""
    steps = np.cumsum(jumps)
    covariance = model.prior_variance + model.jump_variance * np.minimum.outer(steps, steps)
    covariance = covariance + model.noise * np.eye(len(x))
    mean = np.full(len(x), model.prior_mean)
    prior = np.where(jumps[1:], model.log_jump, model.log_stay).sum()
    return stats.multivariate_normal.logpdf(x, mean, covariance) + prior


def brute_force(x, model):
    sequences = [
        np.array([False, *later]) for later in itertools.product([False, True], repeat=len(x) - 1)
    ]
    return max(sequences, key=lambda jumps: log_joint(x, jumps, model))


@pytest.mark.parametrize("length", [1, 2, 5, 9])
def test_equals_brute_force_over_all_sequences(length):
    random = np.random.default_rng(length)
    for scale in (0.7, 2.0):
        x = scale * random.normal(size=length)
        assert (most_likely_jumps(x, MODEL) == brute_force(x, MODEL)).all()


def test_finds_many_jumps_where_they_win():
    x = np.array([0.0, 4, 0, 4, 0, 4, 0, 4, 0, 4])
    assert most_likely_jumps(x, MODEL).sum() == 9
    assert (most_likely_jumps(x, MODEL) == brute_force(x, MODEL)).all()


def test_other_parameters():
    model = JumpModel(1.0, 3.0, 0.5, 0.2, 0.5)
    x = np.random.default_rng(0).normal(3, 1.2, size=9)
    assert (most_likely_jumps(x, model) == brute_force(x, model)).all()


def test_no_sequence_of_up_to_three_jumps_is_better_at_full_length():
    x = stores.toy_stream(2)["value"].values[1]
    highest = log_joint(x, most_likely_jumps(x, MODEL), MODEL)
    for count in range(4):
        for places in itertools.combinations(range(1, 30), min(count, 2)):
            jumps = np.isin(np.arange(30), places)
            assert log_joint(x, jumps, MODEL) <= highest + 1e-9


def test_a_series_beyond_the_method_is_refused(monkeypatch):
    monkeypatch.setattr(exact_segmentation, "LIMIT", 10)
    with pytest.raises(UserError, match="exact_map_agreement"):
        most_likely_jumps(np.linspace(0, 3, 31), MODEL)


def test_the_model_comes_from_the_runs_own_settings():
    stream = stores.toy_stream(2)
    run = stores.toy_run(stream, "v", 2, size=2, variance=0.5)
    model = exact_segmentation.model_of(run)
    assert model == JumpModel(0.25, 0.0, 1.0, 0.5, stores.LOG_ODDS)
    assert np.exp(model.log_jump) == pytest.approx(0.1)
    tempered = stores.toy_run(stream, "v", 2, size=2, broadening="temper")
    assert exact_segmentation.of_run(tempered, stream) is None
