"""Mean log density of each observation before it is learnt from (prequential).

Of the mixture over hypotheses, in nats per observation (row). The targets of one row are
independent given the hypothesis in a Gaussian mixture, so their log densities add within it;
in a mixture of Student's t distributions they have one joint density.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Categorical, Gaussian, Predictive
from shiftbench.evaluation.metrics._classes import masked_mean

STAGE = "before"
UNIT = "nats per observation"
HIGHER_IS_BETTER = True
JUDGES = ("gaussian", "student-t")


def score(predictive: Predictive, batch: Batch) -> np.ndarray:
    """Mean log predictive density [S]; UserError for a classification."""
    if isinstance(predictive, Categorical):
        raise UserError(
            "metric log_predictive needs a stream of real values, but the predictions are class "
            "probabilities; take nll into this study's metrics instead"
        )
    targets = np.where(batch.mask[..., None], batch.targets, 0.0)[:, None]
    of_kind = _gaussian if isinstance(predictive, Gaussian) else _student_t
    density = of_kind(predictive, targets) + predictive.log_weights[..., None]
    return masked_mean(logsumexp(density, axis=1), batch.mask)


def _gaussian(predictive: Gaussian, targets: np.ndarray) -> np.ndarray:
    """Log densities [S, H, n] of the rows under each hypothesis."""
    squared = (targets - predictive.mean) ** 2 / predictive.variance
    return -0.5 * (np.log(2 * np.pi * predictive.variance) + squared).sum(axis=-1)


def _student_t(predictive: Predictive, targets: np.ndarray) -> np.ndarray:
    """Log densities [S, H, n] of the rows under each hypothesis."""
    d, df = targets.shape[-1], predictive.df[..., None]
    root = np.linalg.cholesky(predictive.scale)
    white = np.linalg.solve(root, (targets - predictive.mean)[..., None])[..., 0]
    half_log_det = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    constant = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi)
    tail = (df + d) / 2 * np.log1p((white**2).sum(axis=-1) / df)
    return constant - half_log_det - tail
