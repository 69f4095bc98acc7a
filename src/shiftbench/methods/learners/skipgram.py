"""Bayesian skip-gram of words with fixed context vectors: a mean-field Gaussian per word.

A word with vector u is seen n+_j times with context j and, as expected negatives, n-_j times
without: log p = sum_j n+_j log s(u.v_j) + n-_j log s(-u.v_j). That is Bayesian logistic
regression with weighted counts, concave in the posterior's mean and standard deviation, and
`newton` finds its optimum (`methods/words/newton.py`). `adam` is the protocol of li2021vbs, C.3,
black-box
variational inference in 5,000 full-batch steps with one draw each, kept as the reference: it
ends 0.3 nats below the optimum on 2e6 pairs a period, 2 nats on 1e8.

Pairs of one word are no independent draws: they come in documents, each with its own way of
saying things, and contexts drift a little all the time. With an intraclass correlation rho
between the n = sum_j n+_j pairs of a word in a period, the variance of its counts is that of
independent pairs times 1 + (n - 1) rho, as under a Dirichlet-multinomial distribution (Williams
1982), and the log likelihood divided by this factor is the quasi-likelihood (Wedderburn 1974):
n pairs tell as much as n / (1 + (n - 1) rho) independent ones, 1 / rho at most.

Axis 0 is the word: combinators that work on words (`beam`, `reset`) go between this and
`per-word`, which makes a learner for whole periods of it. Inputs [W, V, d] are the context
vectors, targets [W, V, 2] the dense (n+, n-) of each word.

State: mean, precision [W, H, d]. Info: elbo = log_evidence, expected_log_likelihood, kl in
nats, steps [W, H]; mean [W, H, d].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval

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

NEEDS: tuple[str, ...] = ()
MODEL = False
TAKES = {"word": "pairs"}
OFFERS = ("broaden", "log_evidence", "mean")


@dataclass(frozen=True)
class Settings:
    method: Literal["newton", "adam"] = "newton"
    """newton: the optimum; adam: the paper's protocol."""
    nodes: Annotated[int, Ge(2)] = 9
    """Gauss-Hermite nodes of a Newton step; 3 are enough above 1,000 pairs a word."""
    elbo_nodes: Annotated[int, Ge(2)] = 12
    """Gauss-Hermite nodes of the final ELBO, which decides between hypotheses."""
    iterations: Annotated[int, Ge(1)] = 20
    """Newton steps at most."""
    tolerance: Annotated[float, Gt(0)] = 0.0001
    """Newton ends after a step that was expected to gain less, in nats."""
    prior_sd: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of the first prior, around zero (1 in li2021vbs)."""
    intraclass_correlation: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Of the pairs of a word in a period; 0 takes them as independent (li2021vbs), above it they
    tell as much as 1 / intraclass_correlation pairs at most, however many there are."""
    steps: Annotated[int, Ge(1)] = 5000
    """Full-batch steps of Adam (Table 5)."""
    learning_rate: Annotated[float, Gt(0)] = 0.01
    """Of Adam (Table 5)."""
    beta2: Annotated[float, Interval(gt=0, lt=1)] = 0.999
    """Of Adam (Table 5; 0.99 in the authors' code)."""
    clip: Annotated[float, Ge(0)] = 0.0
    """Bound of the entries of Adam's gradients; 0 for none (0.1 in the authors' code)."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """The learner of word vectors for problem.input_shape = (d,); LearnerError for others."""
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
        """Probabilities of a pair being positive, and negative."""
        p = mean_sigmoid(state["mean"], state["precision"], _shared(inputs)).numpy()
        w, h = p.shape[:2]
        return Categorical(np.full((w, h), -np.log(h)), np.stack([p, 1 - p], axis=-1))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        if not (batch.targets >= 0).all():
            raise LearnerError("skipgram: a count is negative or missing; counts are 0 or more")
        noise = _noise(settings, d, seeds)
        prior = state["mean"], state["precision"]
        targets = _independent(settings.intraclass_correlation, batch)
        found = fit(*prior, _shared(batch.inputs), targets, batch.mask, noise)
        mean, precision, steps, log_lik, kl = (a.numpy() for a in found)
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


def _shared(contexts: np.ndarray) -> np.ndarray:
    """Context vectors [1, V, d] if all words have the same, as a view can tell; else [W, V, d]."""
    return contexts[:1] if contexts.strides[0] == 0 else contexts


def _independent(correlation: float, batch: Batch) -> np.ndarray:
    """Counts (n+, n-) [W, V, 2] that as many independent pairs as the word's are worth have."""
    if correlation == 0:
        return batch.targets
    pairs = np.sum(batch.targets[..., 0], axis=1, where=batch.mask, dtype=float)
    variance = 1.0 + correlation * np.maximum(pairs - 1.0, 0.0)
    return (batch.targets / variance[:, None, None]).astype(np.float32)


def _noise(settings: Settings, d: int, seeds: np.ndarray) -> np.ndarray:
    """Normal draws of Adam's steps [W, steps, d], the same for all hypotheses; none for Newton."""
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
    """Posterior mean and precision, steps, and the ELBO's two terms."""
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
    """Adam on (mean, log sd) from the prior, along reparametrised gradients of the ELBO."""
    linear = newton.product(data.positives, data.features)
    x = tf.stack([prior.mean, -0.5 * tf.math.log(prior.precision)])

    adam = Adam(settings.learning_rate, beta2=settings.beta2, epsilon=1e-8)

    def descended(i: tf.Tensor, now: Descent) -> Descent:
        g = _drawn_gradient(now.x, prior, data, linear, noise[:, tf.newaxis, i])
        if settings.clip:
            g = tf.clip_by_value(g, -settings.clip, settings.clip)
        x, first, second, _ = adam_step(adam, now, -g, tf.cast(i + 1, tf.float32))
        return Descent(x, first, second, i + 1)

    zeros = tf.zeros_like(x)
    x = repeat(descended, Descent(x, zeros, zeros, tf.constant(0)), settings.steps).x
    return newton.Normal(x[0], tf.exp(-2.0 * x[1]))


def _drawn_gradient(
    x: tf.Tensor,
    prior: newton.Normal,
    data: newton.ContextCounts,
    linear: tf.Tensor,
    eps: tf.Tensor,
) -> tf.Tensor:
    """Gradient of the ELBO in (mean, log sd) [2, W, H, d] by one draw; the KL's is exact."""
    mean, sd = x[0], tf.exp(x[1])
    score = newton.product(mean + sd * eps, data.features, transpose=True)
    g = linear - newton.product(data.total * tf.sigmoid(score), data.features)
    pull = prior.precision * (prior.mean - mean)
    return tf.stack([g + pull, g * eps * sd + 1.0 - prior.precision * tf.square(sd)])
