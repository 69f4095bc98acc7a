"""Broadening of learners of rows whose posterior is a Gaussian with a full covariance.

A hypothesis is mean [P] and root [P, P], with covariance root root'. The constants of the learner
begin with the unit of the coefficients, in which a variance has a bound, the prior mean and the
prior variance.
"""

from __future__ import annotations

import math

from numba import cfunc

from shiftbench.core.interface import Broadening, LearnerError, State
from shiftbench.methods.online import rows
from shiftbench.methods.online.rows import STEP, CompiledRows
from shiftbench.methods.posteriors import full_gaussian
from shiftbench.methods.posteriors.mean_field_gaussian import DIFFUSE, OU

LARGEST_ROOT = 1e10
"""Bound of the root's entries, in units of the noise. At this size, rounding errors are 1e-6 of the
information in a row."""


def broadened(name: str, compiled: CompiledRows, state: State, broadening: Broadening) -> State:
    """Return the widened state; LearnerError, with the name, where a variance has wound up."""
    wide, refused = rows.broaden(compiled, state, broadening)
    if refused.any():
        raise LearnerError(
            f"{name}: broadening again and again has wound up the variance of what no row shows,"
            " and rounding would hide what rows do; set broadening to temper-prior, geometric or"
            " ou, which end at the prior"
        )
    return wide


@cfunc(STEP, cache=True, error_model="numpy")
def broaden(numbers, widening, nothing, constants, scratch, refused):
    """Widen the hypotheses, in place; refused is 1 where a variance has wound up."""
    unit, prior_mean, prior_variance = constants[0], constants[1], constants[2]
    beta, share, variance, way = widening
    p = int(math.sqrt(numbers.shape[1]))  # there are p + p p numbers
    for h in range(len(numbers)):
        mean, root = numbers[h, :p], numbers[h, p:].reshape(p, p)
        if way == DIFFUSE:
            full_gaussian.diffuse(root, 1.0, variance, scratch)
        elif way == OU:
            full_gaussian.relax(mean, root, beta, prior_mean, prior_variance, scratch)
        else:
            full_gaussian.powers(mean, root, beta, prior_mean, share / prior_variance, scratch)
        for j in range(p, numbers.shape[1]):
            if not abs(numbers[h, j]) < LARGEST_ROOT * unit:
                refused[h] = 1.0
