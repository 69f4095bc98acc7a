"""Stateless draws for S repetitions side by side, each from its own seed.

Hypotheses of one repetition share their draws (common random numbers). So no difference in noise
blurs the comparison of two hypotheses, and a draw costs the same for one hypothesis as for a beam.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftbench.methods.networks.backend import fused, tf

PHILOX = 1
"""TensorFlow's number of the generator (Salmon et al. 2011) that all draws come from."""


def fold_in(seeds: tf.Tensor, data: tf.Tensor | int) -> tf.Tensor:
    """Return the seeds [S, 2], each folded with a number such as a step."""
    return _each(lambda seed: tf.random.experimental.stateless_fold_in(seed, data), seeds)


def normals(seeds: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
    """Return standard normal draws [S, *shape]."""
    return _each(lambda seed: tf.random.stateless_normal(shape, seed), seeds)


def uniforms(seeds: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
    """Return uniform draws [S, *shape] from [0, 1)."""
    return _each(lambda seed: tf.random.stateless_uniform(shape, seed), seeds)


def normals_and_signs(seeds: tf.Tensor, number: int, others: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return `number` standard normal draws [S, number], and the signs [S, others] of the next.

    Both are those of `normals` on number + others draws, but a sign costs a quarter of a draw: two
    draws are the sine and the cosine of an angle times a radius (Box and Muller 1958), and the
    second of two random words has the angle, in units of a turn / 2^23.
    """
    keys = [tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed) for seed in tf.unstack(seeds)]
    # A block of the generator gives four words.
    blocks, before = divmod(number, 4)
    words = []
    for key, counter in keys:
        start = counter + tf.constant([blocks, 0], tf.uint64)
        words.append(
            tf.raw_ops.StatelessRandomUniformFullIntV2(
                shape=[-(-(before + others) // 4) * 4],
                key=key,
                counter=start,
                alg=PHILOX,
                dtype=tf.int32,
            )
        )
    signs = _signs(tf.stack(words))
    return normals(seeds, [number]), signs[:, before : before + others]


# Fused: one pass over memory in place of seven.
@fused
def _signs(words: tf.Tensor) -> tf.Tensor:
    """Return the signs of the draws that are made of the words [S, n], n even."""
    pairs = tf.reshape(words, [words.shape[0], -1, 2])
    angles = tf.bitwise.bitwise_and(pairs[..., 1:], 2**23 - 1)
    turns = tf.add(angles, [0, 2**21])
    signs = tf.where(tf.bitwise.bitwise_and(turns, 2**22) == 0, 1.0, -1.0)
    # The sine of no angle at all is 0.
    return tf.reshape(tf.where(turns == 0, 0.0, signs), words.shape)


def _each(draw: Callable[[tf.Tensor], tf.Tensor], seeds: tf.Tensor) -> tf.Tensor:
    return tf.stack([draw(seed) for seed in tf.unstack(seeds)])
