"""Bayesian linear regression with the exact beta posterior, by Hamiltonian Monte Carlo.

The reference for `bayes-linear` with beta_p: all rows are stored, and after each task the beta
posterior of all rows is sampled. With f the density of a row y under (mu, s2),

    log posterior = log prior + sum over rows of f(y)^beta / beta - int f^(1 + beta) / (1 + beta).

Source: knoblauch2018robust, Eq. 3 and 5, Fig. 3 (95,000 draws). Knows: the prior and beta_p.

The sampler is TensorFlow Probability's. It runs in coordinates in which the fitted normal-inverse-
gamma is nearly standard normal, so that one fixed step size suits every posterior; chains start at
standard normal points. A prediction is the mixture over all draws; its far tail (ten standard
deviations) rests on the few draws with a large s2.

State, [S, 1, ...]: x [N, d, p], y [N, d], count of rows; draws [draws, 1 + p] of s2, mu (from
the prior, before any row); fit [2 + p + p p], the approximation (a, b, m, L with Sigma = L L');
accepted, the share of accepted proposals; r_hat, the largest of all coordinates.
Info: draws, fit, accepted, r_hat.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core import seeds as seeding
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Gaussian, Info, Learner, Problem, State
from shiftbench.methods.lazy_probability import tfp
from shiftbench.methods.networks.backend import fused, tf
from shiftbench.methods.online import row_values, stored_rows
from shiftbench.methods.posteriors import beta_exact

FACTS = Facts(takes={"design": "gaussian"}, offers=("draws",))

INFO = ("draws", "fit", "accepted", "r_hat")


@dataclass(frozen=True)
class Settings:
    a0: Annotated[float, Gt(0)] = 1.0
    """Shape of the prior of s2."""
    b0: Annotated[float, Gt(0)] = 1.0
    """Scale of the prior of s2."""
    prior_mean: float = 0.0
    """Prior mean of every coefficient."""
    prior_variance: Annotated[float, Gt(0)] = 1.0
    """Prior variance of a coefficient in units of s2."""
    beta_p: Annotated[float, Gt(0)] = 0.25
    """Beta of the parameters (Fig. 3: 0.25)."""
    draws: Annotated[int, Ge(2)] = 10_000
    """Draws that are kept, over all chains; rounded up to full chains (Fig. 3: 95,000)."""
    chains: Annotated[int, Ge(2)] = 20
    """Number of independent chains."""
    burn_in: Annotated[int, Ge(0)] = 100
    """Number of first draws of each chain that are discarded."""
    step_size: Annotated[float, Gt(0)] = 0.35
    """Size of a leapfrog step, in standard deviations of the approximation."""
    leapfrog_steps: Annotated[int, Ge(1)] = 5
    """Number of leapfrog steps of a proposal."""


class _Chains(NamedTuple):
    """Draws [draws, 1 + p] of one posterior, share of accepted proposals, largest R-hat."""

    draws: np.ndarray
    accepted: float
    r_hat: float


def rows_kept(settings: Settings, problem: Problem) -> tuple[int, int]:
    """Return how many rows it keeps of a whole stream, and the numbers of a row."""
    return stored_rows.kept(problem)


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build the learner of d targets on designs of input_shape (1, d, p).

    The sampler is compiled once, for all rows of the stream. Raises LearnerError for other inputs.
    """
    d, p = stored_rows.design_shape("beta-hmc", problem)
    capacity = problem.n_tasks * problem.n_train
    prior = beta_exact.Prior(settings.a0, settings.b0, settings.prior_mean, settings.prior_variance)
    kept = -(-settings.draws // settings.chains) * settings.chains
    sample = _sampler(settings, prior, kept // settings.chains)

    def init(seeds: np.ndarray) -> State:
        start = prior.approximation(p)
        draws = [_antithetic_draws(start, kept, seeding.generator(seed)) for seed in seeds]
        size = (len(seeds), 1)
        return {
            "x": np.zeros((*size, capacity, d, p)),
            "y": np.zeros((*size, capacity, d)),
            "count": np.zeros(size),
            "draws": np.stack(draws)[:, None],
            "fit": np.tile(start.packed(), (*size, 1)),
            "accepted": np.ones(size),
            "r_hat": np.ones(size),
        }

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Gaussian:
        s2, mu = state["draws"][:, 0, :, 0], state["draws"][:, 0, :, 1:]
        mean = np.einsum("sndp,skp->sknd", inputs[:, :, 0], mu, optimize=True)
        log_weights = np.full(s2.shape, -math.log(kept))
        return Gaussian(log_weights, mean, np.broadcast_to(s2[:, :, None, None], mean.shape))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        row_values.checked("beta-hmc", batch, d)
        after = {name: array.copy() for name, array in state.items()}
        for s in np.flatnonzero(batch.mask.any(axis=1)).tolist():
            _, count = stored_rows.append(after, batch, s, 0)
            x, y = after["x"][s, 0], after["y"][s, 0]
            fit = beta_exact.approximation(prior, settings.beta_p, x[:count], y[:count])
            chains = sample(fit, x, y, count, seeds[s])
            after["fit"][s, 0] = fit.packed()
            after["draws"][s, 0] = chains.draws
            after["accepted"][s, 0], after["r_hat"][s, 0] = chains.accepted, chains.r_hat
        return after, {name: after[name] for name in INFO}

    return Learner(init, predict, observe)


def _antithetic_draws(
    prior: beta_exact.Approximation, size: int, random: np.random.Generator
) -> np.ndarray:
    """Draw [size, 1 + p] from the prior in mirrored pairs, whose mean is the prior mean.

    The prior can be so heavy-tailed that a plain mean of thousands of draws is far off.
    """
    s2, mu = prior.draw(-(-size // 2), random)
    pairs = np.concatenate([mu, 2 * prior.m - mu])
    return np.concatenate([np.tile(s2, 2)[:, None], pairs], axis=1)[:size]


def _sampler(
    settings: Settings, prior: beta_exact.Prior, results: int
) -> Callable[[beta_exact.Approximation, np.ndarray, np.ndarray, int, np.ndarray], _Chains]:
    """Compile the sampler (approximation, x, y, number of rows, seed) -> chains."""

    @fused
    def run(start, centre, x, y, seen, seed):
        kernel = tfp.mcmc.HamiltonianMonteCarlo(
            lambda z: _log_target(z, centre, x, y, seen, prior, settings.beta_p),
            settings.step_size,
            settings.leapfrog_steps,
        )
        z, accepted = tfp.mcmc.sample_chain(
            results,
            start,
            kernel=kernel,
            num_burnin_steps=settings.burn_in,
            trace_fn=lambda _, results: results.is_accepted,
            seed=seed,
        )
        share = tf.reduce_mean(tf.cast(accepted, tf.float64))
        r_hat = tf.reduce_max(tfp.mcmc.potential_scale_reduction(z))
        s2, mu = _parameters(z, centre)
        return tf.concat([s2[..., tf.newaxis], mu], axis=-1), share, r_hat

    def sample(
        fit: beta_exact.Approximation, x: np.ndarray, y: np.ndarray, count: int, seed: np.ndarray
    ) -> _Chains:
        random = seeding.generator(seeding.fold_each(seed[None], "start")[0])
        start = random.standard_normal((settings.chains, 1 + len(fit.m)))
        seen = np.arange(len(x)) < count
        draws, accepted, r_hat = run(start, tuple(fit), x, y, seen.astype(float), seed)
        return _Chains(draws.numpy().reshape(-1, 1 + len(fit.m)), float(accepted), float(r_hat))

    return sample


def _parameters(z: tf.Tensor, centre: tuple) -> tuple[tf.Tensor, tf.Tensor]:
    """Transform coordinates z [..., 1 + p] into s2 [...] and mu [..., p]."""
    a, b, m, root = centre
    s2 = b / a * tf.exp(z[..., 0] / tf.sqrt(a))
    shift = tf.linalg.matvec(root, z[..., 1:])
    return s2, m + tf.sqrt(s2)[..., tf.newaxis] * shift


def _log_target(
    z: tf.Tensor,
    centre: tuple,
    x: tf.Tensor,
    y: tf.Tensor,
    seen: tf.Tensor,
    prior: beta_exact.Prior,
    beta: float,
) -> tf.Tensor:
    """Return the log density [chains] of the beta posterior at z, up to a constant.

    The Jacobian of (log s2, mu) -> z leaves s2^(1 + p / 2).
    """
    n, d, p = x.shape
    s2, mu = _parameters(z, centre)
    log_s2 = tf.math.log(s2)
    residual = tf.reshape(y, [-1]) - tf.linalg.matmul(
        mu, tf.reshape(x, [n * d, p]), transpose_b=True
    )
    squared = tf.reduce_sum(tf.reshape(residual, [-1, n, d]) ** 2, axis=2)
    log_normaliser = -0.5 * d * (math.log(2 * math.pi) + log_s2)
    log_f = log_normaliser[:, tf.newaxis] - 0.5 * squared / s2[:, tf.newaxis]
    fits = tf.linalg.matvec(tf.exp(beta * log_f), seen) / beta
    integral = tf.exp(beta * log_normaliser) * (1 + beta) ** (-0.5 * d - 1)
    distance = tf.reduce_sum((mu - prior.mean) ** 2, axis=1) / prior.variance
    log_prior = -(prior.a + 1 + 0.5 * p) * log_s2 - (prior.b + 0.5 * distance) / s2
    return log_prior + (1 + 0.5 * p) * log_s2 + fits - tf.reduce_sum(seen) * integral
