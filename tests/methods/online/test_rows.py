"""Blocks of rows give the same bytes as their rows one by one, for all learners with blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.contract.blocks import one_by_one, same, same_results
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.evaluation.running import pipeline
from shiftbench.methods.combinators import beam, run_length
from shiftbench.methods.learners import bayes_linear, linear_gaussian
from tests import compiled_code

P = 3
REALS = Problem("regression", (P,), 1, 1, 2000)
CLASSES = Problem("classification", (P,), 2, 1, 2000)
DESIGN = Problem("regression", (1, 2, P), 2, 1, 2000)
DESIGNS = Problem("regression", (2, 1, P), 1, 1, 2000)
VALUES = Problem("regression", (0,), 2, 1, 2000)
LEARNERS = {
    "gaussian-mean": (["gaussian-mean", {"noise_sd": 0.7, "prior_mean": 0.2}], VALUES),
    "linear-gaussian": (["linear-gaussian", {"noise_sd": 0.5, "prior_variance": 4.0}], REALS),
    "bayes-linear": (["bayes-linear", {"a0": 2.0}], REALS),
    "bayes-robust": (["bayes-linear", {"beta_p": 0.1, "beta_rlm": 0.1, "window": 5}], DESIGN),
    "bayes-designs": (["bayes-linear", {}], DESIGNS),
    "oga": (["oga", {}], CLASSES),
    "oga-el": (["oga-el", {}], REALS),
    "sva": (["sva", {"ridge": 0.1}], CLASSES),
    "svb": (["svb", {"schedule": "constant", "step_size": 0.1}], REALS),
    "ngvi": (["ngvi", {}], CLASSES),
}
COMBINATORS = {
    "": [],
    "reset": [["reset", {}]],
    "forget-temper": [["forget", {"beta": 0.9}]],
    "forget-geometric": [["forget", {"beta": 0.9, "broadening": "geometric"}]],
    "forget-diffuse": [["forget", {"variance": 0.1, "broadening": "diffuse"}]],
    "forget-ou": [["forget", {"beta": 0.9, "broadening": "ou"}]],
    "run-length": [["run-length", {"hazard": 0.1, "keep": 6}]],
    "run-length-one": [["run-length", {"hazard": 0.3, "keep": 1}]],
    "beam": [["beam", {"size": 3, "broadening": "geometric", "prior_log_odds": -1.0}]],
    "beam-of-one": [["beam", {"size": 1}]],
    "beam-bayes": [
        ["beam", {"size": 4, "broadening": "geometric", "weights": "bayes", "truncation": "plain"}]
    ],
    "beam-learnt": [["beam", {"size": 3, "prior_tasks": 5.0, "broadening": "temper-prior"}]],
    "beam-in-turn": [
        [
            "beam",
            {"size": 2, "broadening": "temper-prior", "fits": "sequential", "temperature": 2.0},
        ]
    ],
}
UNBROADENED = ("oga", "sva", "bayes-robust", "bayes-designs")
CASES = [
    (inner, outer)
    for inner in LEARNERS
    for outer in COMBINATORS
    if not (inner in UNBROADENED and outer.partition("-")[0] in ("beam", "forget"))
    and (inner, outer) != ("bayes-linear", "forget-diffuse")
]


def assembled(inner: str, outer: str):
    """Return a pipeline as assembled by a run, and its problem."""
    own, problem = LEARNERS[inner]
    return pipeline.assemble([*COMBINATORS[outer], own], None, problem), problem


def rows(problem: Problem, n: int, repetitions: int = 2, masked: bool = True) -> Batch:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(repetitions, n, *problem.input_shape))
    level = np.where(np.arange(n) % 40 < 20, 1.0, -1.0)
    y = level[:, None] + 0.5 * rng.normal(size=(repetitions, n, problem.n_outputs))
    if problem.kind == "classification":
        y = (x.sum(axis=-1) * level > 0).astype(np.int64)
    mask = np.ones((repetitions, n), bool)
    if masked:
        mask[0, ::5] = False
    return Batch(x, y, mask)


def begin(learner, repetitions: int):
    return learner.init(seeds.block(range(repetitions), "rows"))


@pytest.mark.long
@pytest.mark.parametrize("drift_first", [True, False])
@pytest.mark.parametrize(("inner", "outer"), CASES)
def test_a_block_is_its_rows_one_by_one(inner, outer, drift_first):
    learner, problem = assembled(inner, outer)
    assert learner.block
    state = begin(learner, 2)
    for n in (7, 1, 60):
        batch = rows(problem, n)
        expected = one_by_one(learner, state, batch, drift_first)
        assert same_results(learner.block(state, batch, drift_first), expected)
        state = expected[0]


@pytest.mark.parametrize("outer", ["", "forget-geometric", "beam", "run-length"])
def test_a_thousand_rows_of_one_repetition_among_many_and_in_pieces(outer):
    learner, problem = assembled("linear-gaussian", outer)
    batch = rows(problem, 1000, repetitions=3)
    state, predictive, info = learner.block(begin(learner, 3), batch, True)
    alone = Batch(*(array[1:2] for array in batch))
    expected = one_by_one(learner, begin(learner, 1), alone, True)
    found = {name: array[1:2] for name, array in state.items()}
    middle = [np.ascontiguousarray(a.reshape(3, 1000, *a.shape[1:])[1]) for a in predictive]
    infos = {name: array[1:2] for name, array in info.items()}
    assert same_results((found, type(predictive)(*middle), infos), expected)
    pieces = begin(learner, 3)
    for start in range(0, 1000, 333):
        piece = Batch(*(array[:, start : start + 333] for array in batch))
        pieces, *_ = learner.block(pieces, piece, True)
    assert same(pieces, state)


@pytest.mark.parametrize("leak", ["of its target", "of the next row"])
def test_a_leak_is_caught(leak):
    """The compiled loop of this learner looks ahead, in its predictions or in its updates."""
    learner, problem = assembled("linear-gaussian", "beam")

    def leaking(state, batch, drift_first):
        ahead = np.roll(batch.targets, -1, axis=1) if leak == "of the next row" else batch.targets
        after, predictive, info = learner.block(state, batch, drift_first)
        seen = ahead.reshape(-1, 1, 1, 1)
        return after, predictive._replace(mean=0.99 * predictive.mean + 0.01 * seen), info

    state, batch = begin(learner, 2), rows(problem, 7)
    assert not same_results(leaking(state, batch, True), one_by_one(learner, state, batch, True))


def test_rows_that_come_singly_are_those_of_a_block():
    inner = bayes_linear.build(bayes_linear.Settings(a0=2.0), REALS)
    settings = run_length.Settings(hazard=0.1, keep=6)
    learner = run_length.build(settings, REALS, inner)
    batch, state = rows(REALS, 60, 1, masked=False), begin(learner, 1)
    after, predictive, _ = learner.block(state, batch, True)
    x, y = inner.rows.check(batch)
    singly = run_length.singly(settings, inner, state)
    for i in range(60):
        predictions, log_weights = singly.predict(x[0, i])
        np.testing.assert_array_equal(predictions[:, 0], predictive.mean[i, :, 0, 0])
        np.testing.assert_array_equal(log_weights, predictive.log_weights[i])
        singly.learn(y[0, i])
    assert same(singly.state, after)


def test_other_functions_drop_the_block():
    learner, _ = assembled("linear-gaussian", "")
    assert replace(learner, warm_up=learner.observe).block
    for name in ("predict", "observe", "drift", "broaden"):
        assert replace(learner, **{name: lambda *given: None}).block is None
    inner = linear_gaussian.build(linear_gaussian.Settings(), REALS)
    other = replace(inner, observe=lambda *given: inner.observe(*given))
    assert beam.build(beam.Settings(), REALS, inner).block
    assert beam.build(beam.Settings(), REALS, other).block is None


def test_a_variance_that_winds_up_fails_the_block():
    learner, problem = assembled("linear-gaussian", "forget-temper")
    batch = rows(problem, 1000)._replace(inputs=np.zeros((2, 1000, P)))
    with pytest.raises(ArithmeticError):
        learner.block(begin(learner, 2), batch, True)


def test_compiled_functions_have_one_signature_for_all_learners():
    for inner in LEARNERS:
        learner, problem = assembled(inner, "" if inner in UNBROADENED else "beam")
        for size in (1, 7):
            for each in (learner, assembled(inner, "run-length")[0]):
                each.block(begin(each, size), rows(problem, size, size), size > 1)
                one_by_one(each, begin(each, size), rows(problem, size, size), size > 1)
    several = {name: kinds for name, kinds in compiled_code.signatures().items() if len(kinds) > 1}
    assert not several
