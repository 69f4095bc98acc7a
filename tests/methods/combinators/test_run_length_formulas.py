"""Compiled run lengths over bayes-linear against NumPy formulas with SciPy's log gamma.

The reference computes each segment's posterior from all its rows at once, by inverting its
precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.combinators import run_length
from shiftbench.methods.learners import bayes_linear

HAZARD, ROWS = 0.1, 60
SETTINGS = {"a0": 1.3, "b0": 0.8, "prior_mean": 0.2, "prior_variance": 4.0}


@dataclass
class Segment:
    """Sums over the rows of a segment, and its log joints."""

    start: int
    model: int
    joint: float
    best: float
    precision: np.ndarray
    weighted: np.ndarray
    a: float
    squares: float

    def learn(self, x, y, beta):
        """Add a row x [d, p], y [d] to the sums and its score to the log joints."""
        covariance = np.linalg.inv(self.precision)
        mean, d = covariance @ self.weighted, len(y)
        b = 0.5 * (self.squares - mean @ self.precision @ mean)
        scale = b / self.a * (np.eye(d) + x @ covariance @ x.T)
        residual = y - x @ mean
        quadratic = residual @ np.linalg.solve(scale, residual)
        evidence = score(beta, 2 * self.a, d, np.linalg.slogdet(scale)[1], quadratic)
        self.joint, self.best = self.joint + evidence, self.best + evidence
        self.precision, self.weighted = self.precision + x.T @ x, self.weighted + x.T @ y
        self.a, self.squares = self.a + d / 2, self.squares + y @ y


def score(beta, df, d, log_det, quadratic):
    """Return Eq. 8 of knoblauch2018robust."""
    ratio = gammaln((df + d) / 2) - gammaln(df / 2)
    log_f = ratio - 0.5 * (d * np.log(df * np.pi) + log_det + (df + d) * np.log1p(quadratic / df))
    if beta == 0:
        return log_f
    wide = df + beta * df + beta * d
    integral = (1 + beta) * ratio + gammaln(wide / 2) - gammaln((wide + d) / 2)
    integral -= 0.5 * beta * (d * np.log(df * np.pi) + log_det)
    return np.exp(beta * log_f) / beta - np.exp(integral) / (1 + beta)


def fresh(start, model, p, joint, best):
    precision = np.eye(p) / SETTINGS["prior_variance"]
    mean = np.full(p, SETTINGS["prior_mean"])
    squares = 2 * SETTINGS["b0"] + mean @ precision @ mean
    return Segment(start, model, joint, best, precision, precision @ mean, SETTINGS["a0"], squares)


def by_formulas(x, y, seen, keep, beta):
    """Return (run length, model) -> (log weight, best log joint) after rows x [n, M, d, p]."""
    segments, models, p, odds = [], x.shape[1], x.shape[3], math.log(HAZARD / (1 - HAZARD))
    for t in np.flatnonzero(seen):
        total = logsumexp([s.joint for s in segments]) + odds if segments else 0.0
        top = max(s.best for s in segments) + odds if segments else 0.0
        share = math.log(models)
        segments += [fresh(t, m, p, total - share, top - share) for m in range(models)]
        for segment in segments:
            segment.learn(x[t, segment.model], y[t], beta)
        segments = sorted(segments, key=lambda s: -s.joint)[:keep]
        total = logsumexp([s.joint for s in segments])
        for segment in segments:
            segment.joint, segment.best = segment.joint - total, segment.best - total
    return {(seen[s.start :].sum() - 1, s.model): (s.joint, s.best) for s in segments}


@pytest.mark.long
@pytest.mark.parametrize("keep", [7, 200], ids="keep{}".format)
@pytest.mark.parametrize("beta", [0.0, 0.2], ids="beta{}".format)
@pytest.mark.parametrize(
    ("models", "d", "p"), [(1, 1, 1), (3, 1, 1), (1, 1, 2), (1, 1, 5), (2, 2, 2), (1, 3, 5)]
)
def test_weights_are_those_of_the_formulas(models, d, p, beta, keep):
    random = np.random.default_rng(100 * models + 10 * d + p)
    x = random.normal(size=(2, ROWS, models, d, p))
    y = random.normal(size=(2, ROWS, d)) + 3 * (np.arange(ROWS) // 25)[:, None]
    mask = random.random((2, ROWS)) < 0.8
    problem = Problem("regression", (models, d, p), d, ROWS, 1)
    inner = bayes_linear.build(bayes_linear.Settings(beta_rlm=beta, **SETTINGS), problem)
    learner = run_length.build(run_length.Settings(HAZARD, keep), problem, inner)
    key = seeds.block(range(2), "formulas")
    _, info = learner.observe(learner.init(key), Batch(x, y, mask), key)
    for s in range(2):
        expected = by_formulas(x[s], y[s], mask[s], keep, beta)
        held = np.isfinite(info["log_weight"][s])
        names = ("run_length", "model", "log_weight", "map_log_joint")
        kept = zip(*(info[name][s, held] for name in names), strict=True)
        actual = {(length, model): values for length, model, *values in kept}
        assert actual.keys() == expected.keys()
        for place, values in expected.items():
            assert actual[place] == pytest.approx(values, rel=0, abs=1e-10)
