"""Forgetting at a constant rate equals a beam that is certain of a shift before every task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.data.series import _nile
from shiftbench.methods.combinators import beam, forget
from shiftbench.methods.learners import gaussian_mean

SERIES = Problem("regression", (0,), 1, 1, 3)
KEY = seeds.block([0], "forget")
PLAIN = gaussian_mean.build(gaussian_mean.Settings(), SERIES)


def batch(value: float) -> Batch:
    return Batch(np.zeros((1, 1, 0)), np.full((1, 1, 1), value), np.ones((1, 1), bool))


@pytest.mark.parametrize("broadening", ["temper", "temper-prior", "geometric", "diffuse", "ou"])
@pytest.mark.parametrize("warm", [False, True])
def test_equals_a_beam_whose_log_odds_are_large(broadening, warm):
    broadening_settings = {"broadening": broadening, "beta": 0.3}
    forgetting = forget.build(forget.Settings(**broadening_settings), SERIES, PLAIN)
    certain = beam.build(
        beam.Settings(size=1, prior_log_odds=1000.0, **broadening_settings), SERIES, PLAIN
    )
    state, expected = forgetting.init(KEY), certain.init(KEY)
    if warm:
        state, expected = (
            learner.begin(s, batch(4.0), KEY)[0]
            for learner, s in ((forgetting, state), (certain, expected))
        )
    for value in (1.0, -2.0, 0.5):
        state, _ = forgetting.observe(forgetting.drift(state, KEY), batch(value), KEY)
        expected, _ = certain.observe(certain.drift(expected, KEY), batch(value), KEY)
        for name in ("base.mean", "base.variance"):
            np.testing.assert_allclose(state[name], expected[name], rtol=1e-12)


def test_a_learner_that_cannot_be_broadened_is_refused():
    with pytest.raises(LearnerError, match="cannot be broadened"):
        forget.build(forget.Settings(), SERIES, replace(PLAIN, broaden=None))


def test_diffusing_a_level_has_the_evidence_of_a_state_space_model():
    """statsmodels implements the same local level model, with drift variance .05."""
    flow = np.asarray(_nile.FLOW, float)
    values = (flow - flow.mean()) / flow.std()
    settings = gaussian_mean.Settings(noise_sd=0.5**0.5, prior_variance=1.0)
    inner = gaussian_mean.build(settings, SERIES)
    learner = forget.build(forget.Settings(broadening="diffuse", variance=0.05), SERIES, inner)
    state, total = learner.init(KEY), 0.0
    for value in values:
        state, info = learner.observe(learner.drift(state, KEY), batch(value), KEY)
        total += info["log_evidence"].item()
    assert total == pytest.approx(-126.6956335109, abs=1e-7)
