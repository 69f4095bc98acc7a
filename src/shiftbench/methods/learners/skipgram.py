"""Bayesian skip-gram of words with fixed context vectors: a mean-field Gaussian for each word.

A word with vector u occurs n+_j times with context j and, as expected negatives, n-_j times
without:

    log p = sum_j n+_j log s(u.v_j) + n-_j log s(-u.v_j), with s the logistic function.

This is Bayesian logistic regression with weighted counts, concave in the posterior's mean and
standard deviation. Method `newton` finds the optimum (`words/newton.py`). Method `adam` is the
protocol of li2021vbs, C.3, black-box variational inference in 5,000 full-batch steps with one draw
each. It is the reference: it ends 0.3 nats below the optimum on 2e6 pairs a period, and 2 nats
below on 1e8. Knows: the likelihood and the context vectors.

Pairs of a word are not independent draws: they come in documents, each with its own vocabulary, and
contexts drift slowly. With an intraclass correlation rho between the n = sum_j n+_j pairs of a word
in a period, the variance of its counts is that of independent pairs times 1 + (n - 1) rho, as under
a Dirichlet-multinomial distribution (Williams 1982). The log likelihood divided by this factor is
the quasi-likelihood (Wedderburn 1974): n pairs are worth n / (1 + (n - 1) rho) independent ones, at
most 1 / rho.

Axis 0 of all arrays is the word: combinators that work on words (`beam`, `reset`) stand between
this learner and `per-word`, which combines the words of a period. Inputs [W, V, d] are the context
vectors, targets [W, V, 2] the dense (n+, n-) of each word.

State: mean, precision [W, H, d].
Info: elbo = log_evidence, expected_log_likelihood, kl in nats, steps [W, H]; mean [W, H, d].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Broadening,
    Categorical,
    Info,
    Learner,
    LearnerError,
    Problem,
    State,
)
from shiftbench.core.seeds import generator
from shiftbench.methods.networks.backend import fused, graph, repeat, tf
from shiftbench.methods.networks.training import Adam, Descent, adam_step
from shiftbench.methods.posteriors import mean_field_gaussian
from shiftbench.methods.words import newton

FACTS = Facts(takes={"word": "pairs"}, offers=("broaden", "log_evidence", "mean"))


@dataclass(frozen=True)
class Settings:
    method: Literal["newton", "adam"] = "newton"
    """Optimiser; newton: finds the optimum; adam: the paper's protocol."""
    nodes: Annotated[int, Ge(2)] = 9
    """Number of Gauss-Hermite nodes of a Newton step; 3 are enough above 1,000 pairs a word."""
    elbo_nodes: Annotated[int, Ge(2)] = 12
    """Number of Gauss-Hermite nodes of the final ELBO, which decides between hypotheses."""
    iterations: Annotated[int, Ge(1)] = 20
    """Largest number of Newton steps."""
    tolerance: Annotated[float, Gt(0)] = 0.0001
    """Newton ends after a step with a smaller expected gain, in nats."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, which has mean zero (li2021vbs: 1)."""
    intraclass_correlation: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Correlation rho of the pairs of a word in a period; 0: independent pairs (li2021vbs); above 0
    they count as at most 1 / rho independent pairs."""
    steps: Annotated[int, Ge(1)] = 5000
    """adam: number of full-batch steps (Table 5)."""
    learning_rate: Annotated[float, Gt(0)] = 0.01
    """adam: learning rate (Table 5)."""
    beta2: Annotated[float, Interval(gt=0, lt=1)] = 0.999
    """adam: decay of the second moment (Table 5; authors' code: 0.99)."""
    clip: Annotated[float, Ge(0)] = 0.0
    """adam: bound of the gradient's entries; 0: no bound (authors' code: 0.1)."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """Build the learner of word vectors in R^d, input_shape (d,); LearnerError for others."""
    if problem.kind != "word":
        raise LearnerError(
            "skipgram: needs the counts of one word at a time; put per-word before it, on a"
            " stream of counts"
        )
    d = problem.input_shape[0]
    fit = graph(partial(_fit, settings))

    @graph
    def mean_sigmoid(mean: tf.Tensor, precision: tf.Tensor, contexts: tf.Tensor) -> tf.Tensor:
        x, t = newton.spread(newton.Normal(mean, precision), contexts)
        return newton.sigmoids(x, t, 1.0, settings.elbo_nodes)[0]

    def init(seeds: np.ndarray) -> State:
        precision = np.full((len(seeds), 1, d), settings.prior_sd**-2, np.float32)
        return {"mean": np.zeros_like(precision), "precision": precision}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        """Return the probabilities that a pair is positive, and negative."""
        p = mean_sigmoid(state["mean"], state["precision"], _unbroadcast(inputs)).numpy()
        w, h = p.shape[:2]
        return Categorical(np.full((w, h), -np.log(h)), np.stack([p, 1 - p], axis=-1))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if not (batch.targets >= 0).all():
            raise LearnerError("skipgram: a count is negative or missing; counts are 0 or more")
        noise = _noise_of_steps(settings, d, seeds)
        prior = state["mean"], state["precision"]
        counts = _effective_counts(settings.intraclass_correlation, batch)
        results = fit(*prior, _unbroadcast(batch.inputs), counts, batch.mask, noise)
        mean, precision, steps, log_lik, kl = (a.numpy() for a in results)
        info = {
            "elbo": log_lik - kl,
            "log_evidence": log_lik - kl,
            "expected_log_likelihood": log_lik,
            "kl": kl,
            "steps": steps,
            "mean": mean,
        }
        return {"mean": mean, "precision": precision}, info

    def broaden(state: State, broadening: Broadening) -> State:
        mean, variance = mean_field_gaussian.broaden(
            state["mean"],
            1.0 / state["precision"].astype(np.float64),
            broadening,
            0.0,
            settings.prior_sd**2,
        )
        return {"mean": mean.astype(np.float32), "precision": (1 / variance).astype(np.float32)}

    return Learner(init, predict, observe, broaden=broaden)


def _unbroadcast(contexts: np.ndarray) -> np.ndarray:
    """Return context vectors [1, V, d] if they are one array broadcast to all words."""
    return contexts[:1] if contexts.strides[0] == 0 else contexts


def _effective_counts(correlation: float, batch: Batch) -> np.ndarray:
    """Scale the counts (n+, n-) [W, V, 2] of a word down to those of independent pairs."""
    if correlation == 0:
        return batch.targets
    pairs = np.sum(batch.targets[..., 0], axis=1, where=batch.mask, dtype=float)
    inflation = 1.0 + correlation * np.maximum(pairs - 1.0, 0.0)
    return (batch.targets / inflation[:, None, None]).astype(np.float32)


def _noise_of_steps(settings: Settings, d: int, seeds: np.ndarray) -> np.ndarray:
    """Draw the noise of Adam's steps [W, steps, d], shared by hypotheses; none for Newton."""
    if settings.method == "newton":
        return np.zeros((len(seeds), 0, d), np.float32)
    shape = settings.steps, d
    return np.stack([generator(seed).standard_normal(shape, np.float32) for seed in seeds])


def _fit(
    settings: Settings,
    mean: tf.Tensor,
    precision: tf.Tensor,
    contexts: tf.Tensor,
    targets: tf.Tensor,
    mask: tf.Tensor,
    noise: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Fit q to a period; return mean, precision, number of steps, the ELBO's two terms."""
    prior, data = newton.Normal(mean, precision), newton.context_counts(contexts, targets, mask)
    if settings.method == "newton":
        q, steps = newton.fit(
            prior, prior, data, settings.nodes, settings.iterations, settings.tolerance
        )
    else:
        q = _black_box(settings, prior, data, noise)
        steps = tf.fill(mean.shape[:2], settings.steps)
    return *q, steps, *newton.elbo(prior, q, data, settings.elbo_nodes)


@fused
def _black_box(
    settings: Settings, prior: newton.Normal, data: newton.ContextCounts, noise: tf.Tensor
) -> newton.Normal:
    """Maximise the ELBO in (mean, log sd) by Adam on reparametrised gradients, from the prior."""
    linear = newton.product(data.positives, data.features)
    x = tf.stack([prior.mean, -0.5 * tf.math.log(prior.precision)])

    adam = Adam(settings.learning_rate, beta2=settings.beta2, epsilon=1e-8)

    def adam_iterate(i: tf.Tensor, now: Descent) -> Descent:
        g = _sampled_gradient(now.x, prior, data, linear, noise[:, tf.newaxis, i])
        if settings.clip:
            g = tf.clip_by_value(g, -settings.clip, settings.clip)
        x, first, second, _ = adam_step(adam, now, -g, tf.cast(i + 1, tf.float32))
        return Descent(x, first, second, i + 1)

    zeros = tf.zeros_like(x)
    x = repeat(adam_iterate, Descent(x, zeros, zeros, tf.constant(0)), settings.steps).x
    return newton.Normal(x[0], tf.exp(-2.0 * x[1]))


def _sampled_gradient(
    x: tf.Tensor,
    prior: newton.Normal,
    data: newton.ContextCounts,
    linear: tf.Tensor,
    eps: tf.Tensor,
) -> tf.Tensor:
    """Return the ELBO's gradient in (mean, log sd) [2, W, H, d] from one draw; KL's is exact."""
    mean, sd = x[0], tf.exp(x[1])
    score = newton.product(mean + sd * eps, data.features, transpose=True)
    g = linear - newton.product(data.total * tf.sigmoid(score), data.features)
    g_prior = prior.precision * (prior.mean - mean)
    return tf.stack([g + g_prior, g * eps * sd + 1.0 - prior.precision * tf.square(sd)])
