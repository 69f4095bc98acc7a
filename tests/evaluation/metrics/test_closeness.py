"""k-hat of a run is the largest over the betas from which the paper starts."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from tests.evaluation.scoring import stores

k_hat = components.load_metric("k_hat")


def test_the_largest_over_small_betas_after_the_last_task() -> None:
    stream = stores.toy_stream(2)
    values = np.full((2, stream.sizes["task"], 3), 9.0)
    values[:, -1] = [[0.1, 0.3, 2.0], [0.2, -0.1, 2.0]]
    learner = [["beta-approximation", {"betas": [0.01, 0.05, 0.1]}]]
    score = np.zeros((1, 2, stream.sizes["task"]))
    run = stores.run_store(score, ["x"], stream, "fits", learner, {"predictive": values})
    assert k_hat.score(run, stream) == pytest.approx([0.3, 0.2])


def test_other_learners_have_none() -> None:
    stream = stores.toy_stream(2)
    score = np.zeros((1, 2, stream.sizes["task"]))
    run = stores.run_store(score, ["x"], stream, "oga", [["oga", {}]])
    assert np.isnan(k_hat.score(run, stream)).all()
