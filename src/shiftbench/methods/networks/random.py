"""Stateless draws for S repetitions side by side, each from its own seed.

Hypotheses of one repetition share their draws (common random numbers). So no difference in noise
blurs the comparison of two hypotheses, and a draw costs the same for one hypothesis as for a beam.

The operations are those of TensorFlow's first version: one for each seed, where tf.random makes
three and their constants, which take longer to trace and give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftbench.methods.networks.backend import fused, tf

PHILOX = 1
"""TensorFlow's number of the generator (Salmon et al. 2011) that all draws come from."""


def fold_in(seeds: tf.Tensor, data: tf.Tensor | int) -> tf.Tensor:
    """Return the seeds [S, 2], each folded with a number such as a step.

    As tf.random.experimental.stateless_fold_in.
    """
    first = _each(tf.raw_ops.StatelessRandomUniformFullInt, seeds, [], dtype=tf.int32)
    return tf.stack([first, tf.fill([seeds.shape[0]], data)], axis=1)


def normals(seeds: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
    """Return standard normal draws [S, *shape], as tf.random.stateless_normal."""
    return _each(tf.raw_ops.StatelessRandomNormal, seeds, shape)


def uniforms(seeds: tf.Tensor, shape: Sequence[int]) -> tf.Tensor:
    """Return uniform draws [S, *shape] from [0, 1), as tf.random.stateless_uniform."""
    return _each(tf.raw_ops.StatelessRandomUniform, seeds, shape)


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


def integers(seeds: tf.Tensor, stop: int) -> tf.Tensor:
    """Return integers [S] from 0 up to `stop`, without it, as tf.random.stateless_uniform."""
    limits = {"minval": tf.constant(0), "maxval": tf.constant(stop)}
    return _each(tf.raw_ops.StatelessRandomUniformInt, seeds, [], **limits)


def _each(
    draw: Callable[..., tf.Tensor], seeds: tf.Tensor, shape: Sequence[int], **keywords: tf.Tensor
) -> tf.Tensor:
    size = tf.constant(shape, tf.int32)
    return tf.stack([draw(shape=size, seed=seed, **keywords) for seed in tf.unstack(seeds)])
