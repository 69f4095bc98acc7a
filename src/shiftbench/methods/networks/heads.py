"""The multi-head protocol: each row of inputs uses the outputs of its head only.

The last number of a row is its head (see `interface.Problem`). Outputs of other heads are replaced
by a very low logit: they have probability zero, and no gradient reaches their parameters. So every
learner works under both protocols.
"""

from __future__ import annotations

from shiftbench.core.interface import LearnerError, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.networks.model import Linear, Model

EXCLUDED = -1e9
"""The logit of a class of another head; finite, so that 0 times it is 0."""


def headed(model: Model, problem: Problem) -> Model:
    """Return a model that takes the head from its inputs; the model itself for a single head."""
    if problem.heads == 1:
        return model
    if model.likelihood != "categorical":
        raise LearnerError("heads are for classification; give the stream a single head")
    own = problem.n_outputs // problem.heads

    def forward(linear: Linear, inputs: tf.Tensor) -> tf.Tensor:
        values, head = split(inputs, problem)
        outputs = model.forward(linear, values)
        of_head = tf.repeat(tf.one_hot(head, problem.heads), own, axis=-1) > 0
        return tf.where(of_head, outputs, EXCLUDED)

    return model._replace(forward=forward)


def split(inputs: tf.Tensor, problem: Problem) -> tuple[tf.Tensor, tf.Tensor]:
    """Split rows with heads into inputs [S, H or 1, n, *input_shape] and heads [S, H or 1, n]."""
    values = tf.reshape(inputs[..., :-1], [*inputs.shape[:3], *problem.input_shape])
    return values, tf.cast(inputs[..., -1], tf.int32)
