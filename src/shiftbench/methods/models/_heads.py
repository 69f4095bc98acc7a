"""A network whose rows each use the outputs of one head: the multi-head protocol.

The last number of a row of inputs tells its head (see `interface.Problem`). Outputs of
other heads count as logits of minus infinity: they have probability zero, and no gradient
reaches their parameters. So every learner works under both protocols.
"""

from __future__ import annotations

from shiftbench.core.interface import LearnerError, Problem
from shiftbench.methods.lazy_tensorflow import tf
from shiftbench.methods.models._model import Linear, Model

EXCLUDED = -1e9
"""Logit of a class of another head; finite, so that 0 times it is 0."""


def headed(model: Model, problem: Problem) -> Model:
    """The model itself with one head, else one that takes the head from its inputs."""
    if problem.heads == 1:
        return model
    if model.likelihood != "categorical":
        raise LearnerError("heads are for classification; give the stream a single head")
    own = problem.n_outputs // problem.heads

    def forward(linear: Linear, inputs: tf.Tensor) -> tf.Tensor:
        values, head = split(inputs, problem)
        outputs = model.forward(linear, values)
        mine = tf.repeat(tf.one_hot(head, problem.heads), own, axis=-1) > 0
        return tf.where(mine, outputs, EXCLUDED)

    return model._replace(forward=forward)


def split(inputs: tf.Tensor, problem: Problem) -> tuple[tf.Tensor, tf.Tensor]:
    """Inputs [S, H or 1, n, *input_shape] and heads [S, H or 1, n] of rows with heads."""
    values = tf.reshape(inputs[..., :-1], [*inputs.shape[:3], *problem.input_shape])
    return values, tf.cast(inputs[..., -1], tf.int32)
