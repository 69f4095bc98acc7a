"""Context vectors of a Bayesian skip-gram, from the counts of all periods together.

log p(n) = sum_ij n+_ij log s(u_i.v_j) + n-_ij log s(-u_i.v_j), with N(0, 1) priors on all u and
v. Given the means of one side, the other side is many independent logistic regressions
(`newton.py`); words and contexts are fitted in turn, beginning with random contexts. li2021vbs,
C.3, does the same by Adam in 10,000 steps.
"""

from __future__ import annotations

import logging

import numpy as np

from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.words import newton
from shiftbench.methods.words.cooccurrence import Cooccurrence, blocks

log = logging.getLogger("shiftbench")

NODES = 5
"""Nodes of the quadrature; with the counts of all periods the variances are small."""
STEPS = 3
"""The most Newton steps of a side in a sweep; few, since the other side moves too."""
ENOUGH = 0.01
"""The expected gain in nats below which a fit stops."""
BLOCK = 64
"""The number of words that are fitted together; fewer take longer."""
START_SD = 0.1
"""Standard deviation of the random contexts. Words are then nearly zero after the first fit, and
both sides grow together; larger contexts, or those of a singular value decomposition, end at a
larger
loss."""


def pretrained(
    counts: Cooccurrence,
    dimension: int,
    generator: np.random.Generator,
    sweeps: int,
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return context vectors [V, d] float32, and the loss of each sweep in nats per positive pair.

    The loss is -ELBO of the words' posteriors plus the negative log prior of the contexts. Stops
    after `sweeps` sweeps, or when the loss falls by less than `tolerance`.
    """
    size = len(counts.mass)
    pairs = max(counts.positives.sum(), 1.0)
    contexts = START_SD * generator.standard_normal((size, dimension)).astype(np.float32)
    words = np.zeros_like(contexts)
    transposed, losses = counts.transposed, [np.inf]
    for sweep in range(1, sweeps + 1):
        words, elbo = _side(counts, contexts, words)
        losses.append((0.5 * np.square(contexts, dtype=float).sum() - elbo) / pairs)
        log.info(
            "context vectors: sweep %d of at most %d, %.5f nats per positive pair",
            sweep,
            sweeps,
            losses[-1],
        )
        if losses[-2] - losses[-1] < tolerance:
            break
        contexts, _ = _side(transposed, words, contexts)
    return contexts, np.array(losses[1:])


def _side(
    counts: Cooccurrence, features: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return posterior means [V, d] of one side given those of the other, and the ELBO in nats."""
    means, total = np.empty_like(start), 0.0
    for rows, real in blocks(len(start), BLOCK):
        mask = np.repeat(real[:, None], len(features), axis=1)
        mean, elbo = _fit(start[rows][:, None], features[None], counts.dense(rows), mask)
        means[rows[real]] = mean.numpy()[real, 0]
        total += float(elbo.numpy()[real].sum())
    return means, total


@graph
def _fit(
    mean: tf.Tensor, features: tf.Tensor, targets: tf.Tensor, mask: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return posterior means [B, 1, d] and ELBO [B, 1], from start values of the means."""
    data = newton.context_counts(features, targets, mask)
    prior = newton.Normal(tf.zeros_like(mean), tf.ones_like(mean))
    start = newton.Normal(mean, tf.ones_like(mean))
    q, _ = newton.fit(prior, start, data, NODES, STEPS, ENOUGH)
    expected, kl = newton.elbo(prior, q, data, NODES)
    return q.mean, expected - kl
