"""Networks on tables of real targets come close to ridge regression and beat the mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from shiftbench.config import compatibility, components
from shiftbench.config.schema import Stream
from shiftbench.core import seeds
from shiftbench.data.tables import table_splits
from shiftbench.methods.learners import mfvi
from shiftbench.methods.models import mlp

log_density = components.load_metric("test_log_density")
squared_error = components.load_metric("test_squared_error")


@pytest.mark.parametrize("family", ["gaussian", pytest.param("radial", marks=pytest.mark.long)])
def test_posteriors_over_networks_predict_real_values(family):
    settings = table_splits.Settings(dataset="diabetes", realisations=2)
    store, key = table_splits.build(settings, Path("unused")), seeds.block(range(2), "test")
    problem, task = table_splits.problem(store), table_splits.task(store, [0, 1], 0)
    model = mlp.build(mlp.Settings(hidden=(20,), noise_sd=0.7), problem)
    mfvi_settings = mfvi.Settings(epochs=60, batch_size=32, learning_rate=0.01, family=family,
                         estimator="sample", start_sd=0.0025, elbo_draws=1)  # fmt: skip
    learner = mfvi.build(mfvi_settings, problem, model)
    state, _ = learner.observe(learner.init(key), task.train, key)
    predictive = learner.predict(state, task.test.inputs, key)
    error = squared_error.score(predictive, task.test)
    targets = task.test.targets[..., 0]
    for s in range(2):
        ridge = Ridge().fit(task.train.inputs[s], task.train.targets[s, :, 0])
        expected = np.mean((ridge.predict(task.test.inputs[s]) - targets[s]) ** 2)
        assert error[s] < 1.3 * expected
    marginal = -0.5 * np.log(2 * np.pi) - 0.5 * (targets**2).mean(axis=1)
    assert (log_density.score(predictive, task.test) > marginal).all()


def test_it_is_declared():
    stream = compatibility.given("s", Stream(family="table-splits", dataset="uci-yacht"))
    assert "mfvi" in compatibility.fitting("learners", stream)
