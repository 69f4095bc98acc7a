import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components

elbo = components.load_metric("elbo")
training_steps = components.load_metric("training_steps")


@pytest.mark.parametrize(("metric", "info"), [(elbo, "elbo"), (training_steps, "steps")])
def test_is_the_mean_over_tasks_of_the_first_hypothesis(metric, info):
    told = np.array([[[1.0, 9.0], [3.0, 9.0]], [[-5.0, 9.0], [-7.0, 9.0]]])
    run = xr.Dataset({f"info_{info}": (("seed", "task", "hypothesis"), told)})
    np.testing.assert_array_equal(metric.score(run, xr.Dataset()), [2.0, -6.0])


@pytest.mark.parametrize("metric", [elbo, training_steps])
def test_is_nan_where_the_run_has_no_such_info(metric):
    run = xr.Dataset(coords={"seed": [0, 1]})
    assert np.isnan(metric.score(run, xr.Dataset())).all()
