"""A linearised network whose outputs share one pass over the rows.

`linearised.linearise` passes a copy of each row for every output. Here the backward passes of all
outputs are one pass with matrix products side by side, which takes less time for many outputs, and
can be differentiated again.
"""

from __future__ import annotations

from shiftbench.methods.networks.backend import tf
from shiftbench.methods.networks.linearised import Slope
from shiftbench.methods.networks.model import Layer, Model, point, recorded, unfolded


def linearise(
    model: Model, parameters: tf.Tensor, inputs: tf.Tensor
) -> tuple[tf.Tensor, list[Slope]]:
    """Return the outputs [S, H, n, C] for inputs [S, 1, n, ...], and their slopes by layer."""
    with tf.GradientTape() as tape:
        outputs, passed = recorded(model, point(parameters), inputs, tape)
        # A row's outputs depend on no other row, so the slope of a sum over rows is the slope of
        # each row.
        totals = tf.reduce_sum(outputs, [0, 1, 2])
    deltas = tape.jacobian(totals, [out for _, out in passed.values()])
    slopes = [
        _slope(layer, x, delta)
        for (layer, (x, _)), delta in zip(passed.items(), deltas, strict=True)
    ]
    return outputs, sorted(slopes, key=lambda slope: slope.layer.start)


def _slope(layer: Layer, x: tf.Tensor, delta: tf.Tensor) -> Slope:
    """Return the slope of a layer from its inputs and gradients [C, S, H, n, ...]."""
    delta = tf.transpose(delta, [1, 2, 3, 0, *range(4, delta.shape.rank)])
    x, _ = unfolded(layer, x, delta[:, :, :, 0])
    if x.shape.rank == 4:
        x = x[:, :, :, tf.newaxis]
    return Slope(layer, x, tf.reshape(delta, [*delta.shape[:4], x.shape[3], layer.fan_out]))
