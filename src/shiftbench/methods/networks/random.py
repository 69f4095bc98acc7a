"""Stateless draws for S repetitions side by side, each from its own seed.

Hypotheses of one repetition share their draws (common random numbers). So no difference in noise
blurs the comparison of two hypotheses, and a draw costs the same for one hypothesis as for a beam.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftbench.methods.networks.backend import tf


def fold_in(seeds: tf.Tensor, data: tf.Tensor | int) -> tf.Tensor:
    """Return the seeds [S, 2], each folded with a number such as a step."""
    return _each(lambda seed: tf.random.experimental.stateless_fold_in(seed, data), seeds)


def normals(seeds: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
    """Return standard normal draws [S, *shape]."""
    return _each(lambda seed: tf.random.stateless_normal(shape, seed), seeds)


def uniforms(seeds: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
    """Return uniform draws [S, *shape] from [0, 1)."""
    return _each(lambda seed: tf.random.stateless_uniform(shape, seed), seeds)


def _each(draw: Callable[[tf.Tensor], tf.Tensor], seeds: tf.Tensor) -> tf.Tensor:
    return tf.stack([draw(seed) for seed in tf.unstack(seeds)])
