"""Learners that learn row by row, called with all rows or with one, as by the harness."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

import shiftbench
from perf import problems
from perf.problems import HAZARD
from perf.work import Work
from shiftbench.config import components
from shiftbench.core.interface import Batch, Learner, Problem, State
from shiftbench.methods.combinators import run_length
from shiftbench.methods.detectors import adwin, ddm, page_hinkley
from shiftbench.methods.detectors import detector as detecting
from shiftbench.methods.learners import bayes_linear
from shiftbench.methods.online.rows import RowLearner

KEY = np.zeros((1, 2), int)
ONE = np.ones(1)
DETECTORS = {"adwin": adwin.build, "ddm": ddm.build, "page-hinkley": page_hinkley.build}
EXACT = 400
"""Rows after which posteriors are compared; until then both sides keep all run lengths."""


def run_lengths(keep: int, rows: int, how: Literal["block", "singly", "harness"] = "block") -> Work:
    """Return run lengths over Bayesian linear regression: drift, prediction and update per row.

    block: all rows in one call. singly: one row per call of `run_length.singly`. harness: one row
    per call of the learner's functions. Shows the last posterior of the run length.
    """
    values = problems.level_changes(rows)
    settings, inner, learner = _run_length(keep)
    if how == "singly":
        return Work(partial(_filtered, settings, inner, learner, values), rows, shows=_posterior)
    run = _singly if how == "harness" else _observed
    parts = _parts(values, 1 if how == "harness" else rows)
    return Work(partial(run, learner, parts), rows, shows=_posterior)


def learn_one(keep: int, rows: int) -> Work:
    """Return calls of `learn_one` of `shiftbench.method`, one per row, which also report changes.

    Shows the last posterior of the run length.
    """

    def learnt(keep: int, values: np.ndarray) -> shiftbench.OnlineMethod:
        prior = {"a0": problems.A0, "b0": problems.B0, "prior_variance": problems.VARIANCE}
        found = shiftbench.method("bocpd", hazard=HAZARD, keep=keep, **prior)
        for value in values.tolist():
            found.learn_one(None, value)
        return found

    def shows() -> dict[str, np.ndarray]:
        state = learnt(EXACT, problems.level_changes(EXACT)).state
        joint = state["log_joint"][0]
        return {"run lengths": _by_length(state["run_length"][0], np.exp(joint - joint.max()))}

    values = problems.level_changes(rows)
    return Work(lambda: learnt(keep, values), rows, shows=shows)


def _run_length(keep: int) -> tuple[run_length.Settings, RowLearner, Learner]:
    """Return the settings, the inner learner and the learner."""
    problem, settings = Problem("regression", (1, 1, 1), 1, 1, 1), run_length.Settings(HAZARD, keep)
    prior = bayes_linear.Settings(a0=problems.A0, b0=problems.B0, prior_variance=problems.VARIANCE)
    inner = bayes_linear.build(prior, problem)
    return settings, inner, run_length.build(settings, problem, inner)


def _filtered(
    settings: run_length.Settings, inner: RowLearner, learner: Learner, values: np.ndarray
) -> State:
    filtering = run_length.singly(settings, inner, learner.init(KEY))
    for value in values[:, np.newaxis]:
        filtering.predict(ONE)
        filtering.learn(value)
    return filtering.state


def _posterior() -> dict[str, np.ndarray]:
    """Return the exact P(run length) after the last row."""
    _, _, learner = _run_length(EXACT)
    (batch,) = _parts(problems.level_changes(EXACT), EXACT)
    _, info = learner.observe(learner.init(KEY), batch, KEY)
    return {"run lengths": _by_length(info["run_length"][0], np.exp(info["log_weight"][0]))}


def _by_length(length: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the probability of each run length below EXACT."""
    found = np.zeros(EXACT)
    found[length[weight > 0]] = weight[weight > 0] / weight.sum()
    return found


def online(learner: str, singly: bool = False, orders: int = 20, rows: int = 569) -> Work:
    """Return an online classifier on many orders of the rows; a unit is a row of an order.

    singly: predict each row before learning from it.
    """
    x, y = problems.classes(rows)
    chosen = np.array([np.random.default_rng(number).permutation(rows) for number in range(orders)])
    module = components.load("learners", learner)
    problem = Problem("classification", x.shape[1:], 2, 1, rows)
    built, size = module.build(module.Settings(), problem), 1 if singly else rows
    parts = [
        Batch(x[chosen[:, i : i + size]], y[chosen[:, i : i + size]], np.ones((orders, size), bool))
        for i in range(0, rows, size)
    ]
    key = np.zeros((orders, 2), int)
    return Work(partial(_singly if singly else _observed, built, parts, key), orders * rows)


def detector(name: str, rows: int) -> Work:
    """Return a drift detector on a signal, restarted after each alarm; shows the alarms."""
    built = DETECTORS[name]()
    values, seeds = problems.watched(rows, errors=name == "ddm"), np.zeros((1, 2), int)

    def alarms() -> np.ndarray:
        state, found, done = built.init(seeds), np.zeros(rows), 0
        while done < rows:
            rest = values[None, done:]
            state, watched = detecting.watch(built, state, rest, np.ones(rest.shape, bool))
            alarm = int(watched.row[0])
            done += alarm + 1 if alarm >= 0 else rest.shape[1]
            found[done - 1] = alarm >= 0
        return found

    return Work(alarms, rows, shows=lambda: {"alarms": alarms()})


def _parts(values: np.ndarray, rows: int) -> list[Batch]:
    """Return the values in batches of `rows`, with a constant regressor."""
    return [
        Batch(np.ones((1, len(y), 1, 1, 1)), y.reshape(1, -1, 1), np.ones((1, len(y)), bool))
        for y in np.split(values, range(rows, len(values), rows))
    ]


def _observed(learner: Learner, parts: list[Batch], key: np.ndarray = KEY) -> State:
    state = learner.init(key)
    for part in parts:
        state, _ = learner.observe(state, part, key)
    return state


def _singly(learner: Learner, parts: list[Batch], key: np.ndarray = KEY) -> State:
    state = learner.init(key)
    for part in parts:
        state = learner.drift(state, key)
        learner.predict(state, part.inputs, key)
        state, _ = learner.observe(state, part, key)
    return state
