"""Optimisers: Adam, AMSGrad (Reddi et al. 2018), stochastic gradients with Nesterov's momentum.

All are vectorised over seeds and hypotheses. A learning rate may decay by a factor each epoch
(farquhar2020radial, D.1). Only Adam supports penalties and path integrals.
"""

from __future__ import annotations

from typing import NamedTuple

from shiftbench.methods.networks.backend import fused, tf


class Adam(NamedTuple):
    """Adam's constants (Kingma and Ba 2014), the defaults of li2021vbs, C.2."""

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7
    decay: float = 1.0


class AmsGrad(NamedTuple):
    """Adam with the largest second moment so far, so that steps do not grow again."""

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7
    decay: float = 1.0


class Sgd(NamedTuple):
    """Stochastic gradient descent with Nesterov's momentum, in PyTorch's form."""

    learning_rate: float
    momentum: float = 0.9
    decay: float = 1.0


Optimiser = Adam | AmsGrad | Sgd
"""decay: the factor of the learning rate after each epoch."""
NAMED: dict[str, type[Optimiser]] = {"adam": Adam, "amsgrad": AmsGrad, "sgd": Sgd}


def named(name: str, learning_rate: float, decay: float = 1.0) -> Optimiser:
    """Return the optimiser with a name in NAMED, with its usual constants."""
    return NAMED[name](learning_rate, decay=decay)


class Descent(NamedTuple):
    """The state of an optimiser.

    x: parameters [S, H, P'].
    first, second: moments of the gradient, [S, H, P'] (Sgd: first is the momentum; AmsGrad: second
        is the largest so far).
    steps: the number taken, [S, 1, 1] or [S, H, 1]; a repetition without rows takes none.
    path: empty, or a single sum [S, H, P'] over steps of -(gradient without the penalty, before the
        step) * (change of x by the step).
    moving: AmsGrad only, the second moment itself.
    """

    x: tf.Tensor
    first: tf.Tensor
    second: tf.Tensor
    steps: tf.Tensor
    path: tuple[tf.Tensor, ...] = ()
    moving: tuple[tf.Tensor, ...] = ()


def begin(optimiser: Optimiser, x: tf.Tensor) -> Descent:
    """Return the state before the first step, at parameters x [S, H, P']."""
    zeros = tf.zeros_like(x)
    moving = (zeros,) if isinstance(optimiser, AmsGrad) else ()
    return Descent(x, zeros, zeros, no_steps(x), moving=moving)


def no_steps(x: tf.Tensor) -> tf.Tensor:
    """Return the number of steps [S, 1, 1] before the first one."""
    return tf.zeros([x.shape[0], 1, 1], tf.int32)


def advance(optimiser: Optimiser, at: Descent, g: tf.Tensor, epoch: tf.Tensor) -> Descent:
    """Return the state after a step down g [S, H, P'] in an epoch, numbered from 0."""
    if optimiser.decay != 1:
        factor = tf.pow(tf.constant(optimiser.decay), tf.cast(epoch, tf.float32))
        optimiser = optimiser._replace(learning_rate=optimiser.learning_rate * factor)
    steps = at.steps + 1
    number = tf.cast(steps, tf.float32)
    if isinstance(optimiser, Adam):
        x, first, second, path = adam_step(optimiser, at, g, number)
        return Descent(x, first, second, steps, path)
    if isinstance(optimiser, AmsGrad):
        x, first, second, moving = _amsgrad_step(optimiser, at, g, number)
        return Descent(x, first, second, steps, moving=(moving,))
    x, first = _sgd_step(optimiser, at, g)
    return at._replace(x=x, first=first, steps=steps)


class Penalty(NamedTuple):
    """The penalty weight / (2 rows) (x - anchor)^2, elementwise; rows is [S, 1, 1]."""

    weight: tf.Tensor
    anchor: tf.Tensor
    rows: tf.Tensor


# Fused: as separate operations this is a third of a step, bound by memory traffic.
@fused
def adam_step(
    adam: Adam, at: Descent, g: tf.Tensor, step: tf.Tensor, penalty: Penalty | None = None
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tuple[tf.Tensor, ...]]:
    """Return x, first, second and path of the Descent after a step, numbered from 1, down g."""
    total = g
    if penalty is not None:
        total += penalty.weight * (at.x - penalty.anchor) / penalty.rows
    first = adam.beta1 * at.first + (1 - adam.beta1) * total
    second = adam.beta2 * at.second + (1 - adam.beta2) * tf.square(total)
    rate = adam.learning_rate * tf.sqrt(1 - adam.beta2**step) / (1 - adam.beta1**step)
    x = at.x - rate * first / (tf.sqrt(second) + adam.epsilon)
    return x, first, second, tuple(path - g * (x - at.x) for path in at.path)


@fused
def _amsgrad_step(
    adam: AmsGrad, at: Descent, g: tf.Tensor, step: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return x, first, second and moving; the rate corrects the moments' bias, as in Keras."""
    first = adam.beta1 * at.first + (1 - adam.beta1) * g
    moving = adam.beta2 * at.moving[0] + (1 - adam.beta2) * tf.square(g)
    second = tf.maximum(at.second, moving)
    rate = adam.learning_rate * tf.sqrt(1 - adam.beta2**step) / (1 - adam.beta1**step)
    return at.x - rate * first / (tf.sqrt(second) + adam.epsilon), first, second, moving


@fused
def _sgd_step(sgd: Sgd, at: Descent, g: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return x and first."""
    first = sgd.momentum * at.first + g
    return at.x - sgd.learning_rate * (g + sgd.momentum * first), first
