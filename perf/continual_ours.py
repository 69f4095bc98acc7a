"""Our side of continual.py, in a process of its own: through the learners' `observe`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from perf.continual_shared import (
    ADAM,
    DAMPING,
    DRAWS,
    EWC,
    FLIPOUT,
    LOCAL,
    RATE,
    SAMPLED,
    SI,
    VOGN,
    Layer,
    Network,
    Rows,
    seconds,
)
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.learners import map, mfvi, vogn
from shiftbench.methods.models import convnet, mlp
from shiftbench.methods.models._model import Model, point
from shiftbench.methods.networks import example_gradients, training
from shiftbench.methods.networks.backend import tf

KEY = seeds.block([0], "benchmarks")
MANY = {"draws": DRAWS, "elbo_draws": 1}
BAYESIAN = {"biases": "gaussian", "learning_rate": RATE}
FLAT = {"prior": "flat", "biases": "penalised"}
ONLINE = FLAT | {"start": "prior", "units": "row", "fisher_rows": 1}
SETTINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    VOGN: (vogn, MANY),
    LOCAL: (mfvi, BAYESIAN | MANY | {"estimator": "local"}),
    SAMPLED: (mfvi, BAYESIAN | MANY | {"estimator": "sample"}),
    ADAM: (map, FLAT | {"importance": "none"}),
    EWC: (map, ONLINE),
    SI: (map, ONLINE | {"importance": "path", "damping": DAMPING}),
    FLIPOUT: (mfvi, BAYESIAN | {"elbo_draws": 1}),
}
"""Learner and settings of each case."""

_runs: dict[int, Callable[[], object]] = {}
"""Of the case that is prepared, by the number of epochs."""


def use_threads(threads: int) -> None:
    """Before any operation runs."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)


def network(case: str, rows: Rows, hidden: tuple[int, ...] = (100, 100)) -> Network:
    """The shape of a case's network."""
    return Network(tuple(Layer(*layer[:3]) for layer in _model(case, rows, hidden)[0].layers))


def prepare(case: str, rows: Rows, batch_size: int, passes: Sequence[int]) -> None:
    """Builds a case's learner for each number of epochs, traces and compiles."""
    module, kind = SETTINGS[case]
    model, problem, batch = _model(case, rows)
    for epochs in passes:
        settings = module.Settings(epochs=epochs, batch_size=batch_size, **kind)
        learner = module.build(settings, problem, model)
        _runs[epochs] = partial(learner.observe, learner.init(KEY), batch, KEY)
        _runs[epochs]()


def timed(passes: int, wall: bool) -> float:
    """Seconds of some epochs of the case that is prepared."""
    return seconds(_runs[passes], wall)


def sums_of_vogn(rows: Rows, hidden: tuple[int, ...], draws: np.ndarray) -> list[np.ndarray]:
    """Sums [P] over rows and weight draws of the loss's gradients, and of their squares."""
    model, _, batch = _model(VOGN, rows, hidden)
    mask = tf.ones(batch.mask.shape)
    given = training.Minibatch(batch.inputs[:, np.newaxis], batch.targets, mask)
    _, passed = example_gradients.signals(model, point(draws[np.newaxis]), given)
    gradients, squares = example_gradients.moments(passed, DRAWS)
    return [-np.ravel(gradients), np.ravel(squares)]  # ours are of the log likelihood


def way(
    case: str, rows: Rows, hidden: tuple[int, ...], start: np.ndarray, precision: np.ndarray,
    rate: float, steps: int,
) -> list[np.ndarray]:  # fmt: skip
    """How far [P] some steps on all rows go, and what the precision gains."""
    model, problem, batch = _model(case, rows, hidden)
    kind = SETTINGS[case][1] | {"start": "prior"}
    settings = map.Settings(epochs=steps, batch_size=len(rows.labels), learning_rate=rate, **kind)
    state = {"mean": start[None, None], "precision": precision[None, None]}
    learnt, _ = map.build(settings, problem, model).observe(state, batch, KEY)
    return [np.ravel(learnt[name] - state[name]) for name in ("mean", "precision")]


def _model(
    case: str, rows: Rows, hidden: tuple[int, ...] = (100, 100)
) -> tuple[Model, Problem, Batch]:
    count = len(rows.labels)
    problem = Problem("classification", rows.inputs.shape[1:], 10, count, 1)
    if case == FLIPOUT:
        model = convnet.build(convnet.Settings(), problem)
    else:
        model = mlp.build(mlp.Settings(hidden=hidden), problem)
    batch = Batch(rows.inputs[None], rows.labels[None], np.ones((1, count), bool))
    return model, problem, batch
