"""The exact most likely jumps of a series whose level diffuses at each jump.

Model (li2021vbs, C.1): x_t ~ N(z_t, noise), z_1 ~ N(prior_mean, prior_variance); a jump
before x_t, t > 1, has probability p and adds N(0, jump_variance) to the level, else the
level stays. A jump diffuses the level and does not reset it, so the run-length recursion
of Bayesian changepoint detection is not exact here; nor is any beam.

Method: branch and bound over all jump sequences, with another jump in each round. A sequence's
evidence is exact (Kalman recursion). The evidence after a jump is bounded above by
ignoring the level before it: the integral over a segment's own level is at most

    max_z L(z) * min(1, sqrt(noise / (n jump_variance)))

with L the likelihood of its n values, because the transition density is at most
1 / sqrt(2 pi jump_variance). The best bounded segmentation of each suffix is a dynamic programme.
A branch is cut only if its bound is below the evidence of a complete sequence, so the result is
the maximum over all 2^(T-1) sequences, whatever their number of jumps. T = 30 takes milliseconds;
the work grows exponentially with the number of jumps in the series.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.config import provenance
from shiftbench.core.errors import UserError

LIMIT = 200_000
"""Largest number of open sequences; beyond it the series is too long for this method."""


@dataclass(frozen=True)
class JumpModel:
    """Parameters of the model; variances in squared units of x."""

    noise: float
    prior_mean: float
    prior_variance: float
    jump_variance: float
    log_odds: float
    """log p / (1 - p) of a jump before each step after the first."""

    @property
    def log_jump(self) -> float:
        """log p."""
        return float(-np.logaddexp(0.0, -self.log_odds))

    @property
    def log_stay(self) -> float:
        """log (1 - p)."""
        return float(-np.logaddexp(0.0, self.log_odds))


def most_likely_jumps(series: np.ndarray, model: JumpModel) -> np.ndarray:
    """Return the exact MAP jumps [T] bool of a series [T]; entry t: a jump just before x_t.

    Raises UserError if more than LIMIT sequences stay open.
    """
    return _search(tuple(np.asarray(series, dtype=float).tolist()), model)


def of_run(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray | None:
    """Return the exact MAP jumps [seed, task] bool under the model of a run's own learner.

    None unless the learner is a beam with absolute broadening over a conjugate Gaussian
    mean, and the stream gives one real value a task.
    """
    model, series = model_of(run), _series(run, stream)
    if model is None or series is None:
        return None
    jumps = [most_likely_jumps(x, model) for x in series]
    return np.stack(jumps) if jumps else np.zeros((0, run.sizes["task"]), dtype=bool)


def model_of(run: xr.Dataset) -> JumpModel | None:
    """Return the model of a run's learner; None if it is not of this kind."""
    beam, level = provenance.offering(run, "diffusion"), provenance.offering(run, "level")
    if beam is None or level is None:
        return None
    return JumpModel(
        noise=level["noise_sd"] ** 2,
        prior_mean=level["prior_mean"],
        prior_variance=level["prior_variance"],
        jump_variance=beam["variance"],
        log_odds=beam["prior_log_odds"],
    )


def _series(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray | None:
    """Return the values [seed, task] that a run saw; None unless each task has a single value."""
    if stream.attrs["warm_up"]:
        return None
    read = provenance.reader(stream).task
    realisations = run["realisation"].values.astype(int)
    batches = [read(stream, realisations, t).train for t in range(stream.sizes["task"])]
    if any(batch.targets.shape[1:] != (1, 1) or not batch.mask.all() for batch in batches):
        return None
    return np.stack([batch.targets[:, 0, 0] for batch in batches], axis=1)


@lru_cache(maxsize=4096)  # all learners of a study share the reference
def _search(series: tuple[float, ...], model: JumpModel) -> np.ndarray:
    x = np.array(series)
    bound = _suffix_bounds(x, model)
    best, jumps = -np.inf, np.zeros(len(x), dtype=bool)
    branches = _root(model, len(x))
    while len(branches.start):
        complete, children, upper = _expand(x, branches, bound, model, best)
        if complete.max() > best:
            best, jumps = complete.max(), branches.jumps[complete.argmax()]
        branches = _Branches(*(column[upper > best] for column in children))
    jumps.setflags(write=False)
    return jumps


class _Branches(NamedTuple):
    """N beginnings of sequences; the last jump is just before x_start, later ones are open.

    log_joint: of all values before x_start and of that jump. mean, variance: of the level at
    x_start before it is seen. All [N], jumps [N, T].
    """

    jumps: np.ndarray
    start: np.ndarray
    log_joint: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def _root(model: JumpModel, length: int) -> _Branches:
    return _Branches(
        np.zeros((1, length), dtype=bool),
        np.zeros(1, dtype=int),
        np.zeros(1),
        np.array([model.prior_mean]),
        np.array([model.prior_variance]),
    )


def _expand(
    x: np.ndarray, branches: _Branches, bound: np.ndarray, model: JumpModel, best: float
) -> tuple[np.ndarray, _Branches, np.ndarray]:
    """Add a jump to each branch, at every position.

    Returns the log joint [N] of the branches without a further jump, the children that may exceed
    `best`, and upper bounds of their log joints.
    """
    log_joint, mean, variance = (
        values.copy() for values in (branches.log_joint, branches.mean, branches.variance)
    )
    children, upper = [], []
    for t in range(int(branches.start.min()), len(x)):
        child_joint = log_joint + model.log_jump
        candidates = np.flatnonzero((branches.start < t) & (child_joint + bound[t] > best))
        jumps = branches.jumps[candidates]
        jumps[:, t] = True
        start = np.full(len(candidates), t)
        wider = variance[candidates] + model.jump_variance
        children.append(_Branches(jumps, start, child_joint[candidates], mean[candidates], wider))
        upper.append(child_joint[candidates] + bound[t])
        seen = branches.start <= t
        step = np.where(branches.start < t, model.log_stay, 0.0)
        spread = variance + model.noise
        density = -0.5 * (np.log(2 * np.pi * spread) + (x[t] - mean) ** 2 / spread)
        gain = np.where(seen, variance / spread, 0.0)
        log_joint = log_joint + np.where(seen, density + step, 0.0)
        mean = mean + gain * (x[t] - mean)
        variance = variance * (1 - gain)
    return log_joint, _joined(children), np.concatenate(upper)


def _joined(parts: list[_Branches]) -> _Branches:
    if sum(len(part.start) for part in parts) > LIMIT:
        raise UserError(
            "exact segmentation: too many jump sequences are close to the best one; leave "
            "exact_map_agreement out of this study's metrics, or shorten the stream"
        )
    return _Branches(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _suffix_bounds(x: np.ndarray, model: JumpModel) -> np.ndarray:
    """Return upper bounds [T] of the log joint of x_t, x_t+1, ... given a jump before x_t."""
    length = len(x)
    bound = np.zeros(length)
    for t in range(length - 1, -1, -1):
        n = np.arange(1, length - t + 1)
        total = np.cumsum(x[t:])
        squares = np.maximum(np.cumsum(x[t:] ** 2) - total**2 / n, 0.0)
        peak = -0.5 * n * np.log(2 * np.pi * model.noise) - 0.5 * squares / model.noise
        occam = np.minimum(0.0, 0.5 * np.log(model.noise / (n * model.jump_variance)))
        after = np.concatenate([model.log_jump + bound[t + 1 :], [0.0]])
        bound[t] = np.max(peak + occam + (n - 1) * model.log_stay + after)
    return bound
