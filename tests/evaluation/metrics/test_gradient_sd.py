import numpy as np
import xarray as xr

from shiftbench.config import components

gradient_sd = components.load_metric("gradient_sd")


SEEDS, TASKS = 2, 20


def run_of(deviations: np.ndarray) -> xr.Dataset:
    """Return a run whose gradients have these standard deviations [seed, task]."""
    dimensions = ("seed", "hypothesis", "task")
    return xr.Dataset({"info_gradient_sd": (dimensions, deviations[:, np.newaxis])})


def test_it_is_of_the_last_tenth_of_the_tasks():
    deviations = np.ones((SEEDS, TASKS))
    deviations[:, -2:] = [[3e-3, 4e-3], [0.0, 1e-4]]
    score = gradient_sd.score(run_of(deviations), xr.Dataset())
    np.testing.assert_allclose(10**score, [np.sqrt(12.5) * 1e-3, np.sqrt(0.5) * 1e-4])


def test_a_learner_that_does_not_tell_has_none():
    assert np.isnan(gradient_sd.score(xr.Dataset(coords={"seed": [0, 1]}), xr.Dataset())).all()
