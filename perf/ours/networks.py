"""Training steps of networks through a learner's `observe`: some epochs minus fewer.

The difference excludes the ELBO at the end of a task and the making of the noise table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from perf import problems
from perf.problems import (
    DAMPING,
    KL_WEIGHT,
    NEARLY_NONE,
    RATE,
    START_SD,
    SURE,
    Case,
    rows_of,
    start_of,
)
from perf.work import Work
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Learner, Problem, State
from shiftbench.methods.combinators import ensemble
from shiftbench.methods.learners import map as map_learner
from shiftbench.methods.learners import mfvi, vogn
from shiftbench.methods.models import convnet, mlp
from shiftbench.methods.networks import kronecker_factors
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.posteriors import kronecker_gaussian

KEY, RIDGE = np.zeros((1, 2), np.int32), np.ones((1, 1), np.float32)
FLAT = {"prior": "flat", "biases": "penalised"}
PENALISED = FLAT | {"start": "prior", "units": "row", "fisher_rows": 1}
KINDS: dict[str, dict[str, Any]] = {
    "adam": FLAT | {"importance": "none"},
    "ewc": PENALISED,
    "si": PENALISED | {"importance": "path", "damping": DAMPING},
}
"""Settings of the learner `map`."""
ORIGINS = {"start": "prior", "prior": "first", "elbo_draws": 1}
"""Settings of mean-field inference that starts from the given state, with the prior N(0, 1)."""


def mean_field(case: str, epochs: tuple[int, int]) -> Work:
    """Return MFVI by local reparameterisation, biases as points; shows steps without noise."""
    of_case = getattr(problems, case)
    kind = ORIGINS | {"estimator": "local", "kl_weight": KL_WEIGHT, "learning_rate": RATE}

    def observing(of_case: Case, epochs: int, sd: float) -> Callable[[], State]:
        settings = mfvi.Settings(epochs=epochs, batch_size=of_case.batch, **kind)
        learner, batch, key = _built(mfvi.build, settings, of_case)
        drawn = learner.init(key)["sd"] > 0
        start, _ = start_of(of_case)
        state = {"mean": start, "sd": np.where(drawn, np.float32(sd), np.float32(0))}
        return lambda: learner.observe(state, batch, key)[0]

    def shows() -> dict[str, np.ndarray]:
        small = problems.small(of_case)
        after = observing(small, problems.STEPS, NEARLY_NONE)()
        return {"way of the means": after["mean"] - start_of(small)[0]}

    few, many = (partial(observing(of_case, number, START_SD)) for number in epochs)
    return _between(of_case, epochs, few, many, shows)


def flipout(epochs: tuple[int, int]) -> Work:
    """Return MFVI by Flipout on the convnet of li2021vbs; biases as weights."""
    kind = ORIGINS | {"biases": "gaussian", "learning_rate": RATE}
    return _fits(mfvi, kind, problems.CONVNET, epochs)


def many_draws(estimator: str, epochs: tuple[int, int]) -> Work:
    """Return MFVI with ten draws, `local` or `sample`; biases as weights."""
    kind = ORIGINS | {"biases": "gaussian", "learning_rate": RATE, "estimator": estimator}
    return _fits(mfvi, kind | {"draws": problems.MANY_DRAWS.draws}, problems.MANY_DRAWS, epochs)


def vogn_steps(epochs: tuple[int, int]) -> Work:
    """Return VOGN with ten draws; shows a large step from a precision at which noise is small."""

    def shows() -> dict[str, np.ndarray]:
        case = problems.small(problems.MANY_DRAWS)._replace(rows=2000, batch=2000)
        settings = vogn.Settings(
            epochs=1, batch_size=case.batch, draws=200, alpha=0.5, beta=0.5, start="prior",
            initial_precision=(1e5,), initial_precision_per="task", elbo_draws=1,
        )  # fmt: skip
        learner, batch, key = _built(vogn.build, settings, case)
        start, _ = start_of(case)
        state = learner.init(key) | {"mean": start, "tasks": np.ones((1, 1), np.int32)}
        after, _ = learner.observe(state, batch, key)
        # A parameter without gradient keeps its prior precision, 1.
        gained = np.where(after["precision"] == 1, 0, after["precision"] - np.float32(50_000.5))
        return {"step of the means": after["mean"] - start, "gain of precision": gained}

    draws = {"draws": problems.MANY_DRAWS.draws, "elbo_draws": 1}
    return _fits(vogn, draws, problems.MANY_DRAWS, epochs)._replace(shows=shows)


def point_estimate(kind: str, epochs: tuple[int, int]) -> Work:
    """Return Adam alone or with the penalty of EWC or SI; shows its end and SI's importance."""

    def shows() -> dict[str, np.ndarray]:
        case = problems.small(problems.WIDE)
        settings = map_learner.Settings(
            **KINDS[kind] | {"start": "prior", "epochs": problems.STEPS, "batch_size": case.batch},
            learning_rate=0.01,
        )
        learner, batch, key = _built(map_learner.build, settings, case)
        start, precision = start_of(case)
        after, _ = learner.observe({"mean": start, "precision": precision}, batch, key)
        found = {"way": after["mean"] - start}
        return found | ({"importance": after["precision"] - precision} if kind == "si" else {})

    return _fits(map_learner, KINDS[kind], problems.WIDE, epochs)._replace(shows=shows)


def ivon_steps(epochs: tuple[int, int]) -> Work:
    """Return IVON with one draw; shows steps from a precision at which noise is small."""
    kind = {
        "curvature": "reparameterised", "draws": 1, "alpha": 0.1, "beta": 1e-5, "momentum": 0.9,
        "momentum_kind": "likelihood", "initial_precision": (1.0,), "elbo_draws": 1,
    }  # fmt: skip

    def shows() -> dict[str, np.ndarray]:
        case = problems.small(problems.WIDE)
        sure = {"initial_precision": (SURE,), "beta": 0.01, "prior_sd": NEARLY_NONE**-0.5}
        steps = {"epochs": problems.STEPS, "batch_size": case.batch, "start": "prior"}
        settings = vogn.Settings(**kind | sure | steps)
        learner, batch, key = _built(vogn.build, settings, case)
        start, _ = start_of(case)
        # The other side's prior has mean 0, so both sides have a negligible prior.
        state = learner.init(key) | {"mean": start, "tasks": np.ones((1, 1), np.int32)}
        after, _ = learner.observe(state, batch, key)
        return {"way": after["mean"] - start}

    return _fits(vogn, kind, problems.WIDE, epochs)._replace(shows=shows)


def kronecker_fit() -> Work:
    """Return a Kronecker-factored Laplace fit of all rows, with spectrum; shows factors."""
    case = problems.WIDE
    model = mlp.build(mlp.Settings(hidden=case.hidden), _problem(case))
    sizes, rows = kronecker_factors.sizes(model), rows_of(case)

    @graph
    def factors(estimate: tf.Tensor, inputs: tf.Tensor, labels: tf.Tensor) -> Any:
        data = inputs, labels, tf.ones_like(labels, tf.bool)
        left, right = kronecker_factors.mean_fisher(
            model, estimate, data, "expected", case.rows, case.batch, KEY
        )
        found = kronecker_gaussian.precision_of(left, case.rows * right, RIDGE, sizes)
        return found.left, found.right, kronecker_gaussian.spectrum(found)

    fit = partial(factors, start_of(case)[0], *rows)

    def shows() -> dict[str, np.ndarray]:
        left, right, _ = fit()
        # The other side keeps the biases apart.
        weights = [a.numpy()[0, 0, :-1, :-1].ravel() for a in left]
        outputs = [b.numpy().ravel() for b in right]
        return {"of inputs": np.concatenate(weights), "of outputs": np.concatenate(outputs)}

    return Work(lambda: fit(), 1, shows=shows)


def members(together: bool, epochs: int, number: int = 5) -> Work:
    """Return the training of an ensemble of MAP estimates, side by side or in turn."""
    case = Case((64,), (50,), 1437, 64)
    settings = map_learner.Settings(epochs=epochs, importance="none")
    member, batch, key = _built(map_learner.build, settings, case)
    many = ensemble.build(ensemble.Settings(number), _problem(case), member)
    learner, times = (many, 1) if together else (member, number)
    observe = partial(learner.observe, learner.init(key), batch, key)
    return Work(lambda: [observe() for _ in range(times)], 1)


def _fits(module: Any, kind: dict[str, Any], case: Case, epochs: tuple[int, int]) -> Work:
    def observing(number: int) -> Callable[[], object]:
        settings = module.Settings(epochs=number, batch_size=case.batch, **kind)
        learner, batch, key = _built(module.build, settings, case)
        return partial(learner.observe, learner.init(key), batch, key)

    return _between(case, epochs, *map(observing, epochs))


def _between(
    case: Case,
    epochs: tuple[int, int],
    few: Callable[[], object],
    many: Callable[[], object],
    shows: Callable[[], dict[str, np.ndarray]] | None = None,
) -> Work:
    steps = (epochs[1] - epochs[0]) * -(-case.rows // case.batch)
    return Work(many, steps, few, shows)


def _built(build: Callable, settings: Any, case: Case) -> tuple[Learner, Batch, np.ndarray]:
    problem = _problem(case)
    if case.hidden is None:
        model = convnet.build(convnet.Settings(), problem)
    else:
        model = mlp.build(mlp.Settings(hidden=case.hidden), problem)
    inputs, labels = rows_of(case)
    batch = Batch(inputs, labels, np.ones(labels.shape, bool))
    return build(settings, problem, model), batch, seeding.block(range(case.seeds), "perf")


def _problem(case: Case) -> Problem:
    return Problem("classification", case.inputs, 10, case.rows, 1)
