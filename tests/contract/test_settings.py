"""Run the contract on settings that change the state or the prediction of a learner."""

from __future__ import annotations

import pytest

from shiftbench.contract.learners import (  # noqa: F401
    test_a_batch_of_one_and_masked_rows,
    test_going_on_from_a_saved_state_equals_an_uninterrupted_run,
    test_infos_are_numbers_per_seed_and_hypothesis,
    test_is_pure_and_deterministic,
    test_predictions_normalise,
    test_seeds_do_not_touch_each_other,
    test_shuffled_labels_are_not_learnt,
    test_states_are_named_arrays_with_seed_and_hypothesis_axes,
    test_the_state_does_not_grow,
)
from shiftbench.contract.problems import PREDICTS, Parts
from shiftbench.core.prediction_checks import checked

PARTS = Parts()
KRONECKER = {"curvature": "kronecker", "biases": "penalised"}
PREDICTIONS = {
    "laplace-last": {"prediction": "laplace-last", "importance": "none"},
    "probit": {"prediction": "laplace-last", "importance": "none", "prediction_draws": 0},
    "swag": {"prediction": "swag", "importance": "none", "swag_epochs": 2},
}
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["kronecker", *PREDICTIONS])
def case(request):
    """Return the learner `map` with some settings, and its problem."""
    learner, problem = PARTS.learner("map", **PREDICTIONS.get(request.param, KRONECKER))
    return checked(learner, problem, PREDICTS), problem
