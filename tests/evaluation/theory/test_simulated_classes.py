"""The minimal losses on the simulated classes of cherief2019online, from their distribution.

Given a class, the score of a linear predictor is normal, so its expected hinge loss has a closed
form. The minimum over all predictors is twice the error of Bayes' rule (Bartlett, Jordan and
McAuliffe 2006), an integral over the plane.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from shiftbench.data.tables import tabular
from shiftbench.evaluation.theory import best_fixed
from shiftbench.methods.online.losses import Loss
from tests.checkout import ROOT

STUDY = ROOT / "config" / "studies" / "online-regret.yaml"
PRINTED = np.array([[1.0, 1.0], [1.0, 3.0]])
OTHER_SIGN = np.array([[1.0, -1.0], [-1.0, 3.0]])
SHARE, MEAN = 2 / 3, np.ones(2)


def best_linear(covariance, intercept):
    """Return the minimal expected hinge loss of <w, x> + b."""

    def expected(theta):
        w, b = theta[:2], theta[2] if intercept else 0.0
        one = Loss("hinge").expected(1.0, w @ MEAN + b, np.sqrt(w @ covariance @ w)).value
        zero = Loss("hinge").expected(-1.0, -w @ MEAN + b, np.sqrt(w @ w)).value
        return SHARE * float(one) + (1 - SHARE) * float(zero)

    # The problem is convex, so any start works.
    return minimize(expected, np.array([1.0, 0.5, 0.0]), method="BFGS", tol=1e-9).fun


def best_of_all(covariance):
    """Return the minimal expected hinge loss of any predictor."""
    axis = np.linspace(-14, 14, 1401)
    x = np.stack(np.meshgrid(axis, axis), axis=-1)
    one = SHARE * multivariate_normal(MEAN, covariance).pdf(x)
    zero = (1 - SHARE) * multivariate_normal(-MEAN, np.eye(2)).pdf(x)
    return 2 * np.minimum(one, zero).sum() * (axis[1] - axis[0]) ** 2


def test_the_study_says_what_can_be_reached():
    cuts = yaml.safe_load(STUDY.read_text())["budgets"]["embedded"]["cuts"]
    for words, number in {
        "expected one below": best_of_all(PRINTED),
        "no linear one below": best_linear(PRINTED, intercept=False),
        "intercept:": best_linear(PRINTED, intercept=True),
        "the best linear one has": best_linear(OTHER_SIGN, intercept=False),
    }.items():
        assert f"{words} {number:.3f}".replace("0.", ".") in cuts


def test_what_the_paper_shows_is_below_what_any_predictor_can_reach():
    table = yaml.safe_load(
        (STUDY.parents[2] / "src/shiftbench/evaluation/scoring/paper_numbers.yaml").read_text()
    )
    shown = [
        row["numbers"]["simulated-classification"][0]
        for one in table["tables"]
        for row in one["rows"]
        if "simulated-classification" in row["numbers"]
    ]
    assert len(shown) == 5
    assert max(shown) + 0.1 < best_of_all(PRINTED) < best_linear(PRINTED, intercept=True)


def test_the_stream_is_a_sample_of_the_law_that_is_printed():
    """This holds within three standard errors of the loss of the best linear predictor."""
    settings = tabular.Settings(dataset="simulated-classification", scaling="none")
    rows = best_fixed.rows(tabular.build(settings, Path()), 0)
    n = len(rows.y)
    smallest = best_fixed.smallest(rows, "hinge", 20.0) / n
    at_best = Loss("hinge").value(rows.y, rows.x @ [1.22, 0.283])
    assert abs(smallest - best_linear(PRINTED, intercept=False)) < 3 * at_best.std() / np.sqrt(n)
    assert smallest > best_linear(OTHER_SIGN, intercept=False) + 0.1
