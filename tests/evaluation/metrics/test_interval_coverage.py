"""The share of values within a mixture's central interval, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian, StudentT
from shiftbench.evaluation.scoring import judging

interval_coverage = components.load_metric("interval_coverage")

WEIGHTS = np.array([[0.3, 0.7]])


def ends(cdf) -> list[float]:
    """Return points just inside and just outside of both ends of the interval."""
    low, high = (optimize.brentq(lambda y, q=q: cdf(y) - q, -99, 99) for q in (0.025, 0.975))
    return [low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6]


def batch(values) -> Batch:
    targets = np.array([*values, np.nan])[None, :, None]
    return Batch(np.zeros((1, 5, 0)), targets, np.array([[True] * 4 + [False]]))


def test_a_mixture_of_normals_has_two_of_these_four_values_inside():
    mean, sd = np.array([-1.0, 3.0]), np.array([1.0, 0.5])
    values = ends(lambda y: WEIGHTS[0] @ stats.norm.cdf(y, mean, sd))
    of_rows = (np.tile(each[None, :, None, None], (1, 1, 5, 1)) for each in (mean, sd**2))
    predicted = Gaussian(np.log(WEIGHTS), *of_rows)
    assert interval_coverage.score(predicted, batch(values)).tolist() == [0.5]


def test_a_mixture_of_students_t_has_the_marginal_of_each_target():
    mean, scale, df = np.array([0.0, 2.0]), np.array([2.0, 1.0]), np.array([2.0, 7.0])
    values = ends(lambda y: WEIGHTS[0] @ stats.t.cdf(y, df, mean, scale))
    matrix = np.tile(np.array([[1.0, 0.5], [0.5, 1.0]]), (1, 2, 5, 1, 1))
    matrix *= scale[None, :, None, None, None] ** 2
    means = np.tile(mean[None, :, None, None], (1, 1, 5, 2))
    found = batch(values)
    both = found._replace(targets=np.concatenate([found.targets, 0 * found.targets + 0.5], axis=2))
    predicted = StudentT(np.log(WEIGHTS), means, matrix, df[None])
    assert interval_coverage.score(predicted, both) == pytest.approx([0.75])


def test_probabilities_of_classes_are_refused():
    classes = Categorical(np.zeros((1, 1)), np.ones((1, 1, 5, 1)))
    with pytest.raises(UserError, match="interval_coverage needs a stream of real values"):
        judging.judge(interval_coverage, classes, batch([0, 0, 0, 0]))
