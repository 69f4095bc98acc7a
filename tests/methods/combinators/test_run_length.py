"""Run lengths against an enumeration of all segmentations, both compiled and uncompiled."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp

from shiftbench.config import components
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Learner, LearnerError, Problem
from shiftbench.methods.combinators import run_length
from shiftbench.methods.learners import bayes_linear, gaussian_mean

HAZARD = 0.2


def problem(models=1, d=1, p=1):
    return Problem("regression", (models, d, p), d, 1, 9)


def series(t=9, models=1, d=1, p=1, s=2):
    rng = np.random.default_rng(3)
    y = rng.normal(size=(s, t, d))
    y[:, t // 2 :] += 4
    return Batch(rng.normal(size=(s, t, models, d, p)), y, np.ones((s, t), bool))


def uncompiled(learner):
    """Return the same learner without its compiled path."""
    return Learner(learner.init, learner.predict, learner.observe)


def key(s=2):
    return seeds.block(range(s), "run-length")


def rows_of(batch):
    return [Batch(*(a[:, i : i + 1] for a in batch)) for i in range(batch.mask.shape[1])]


def driven(learner, batch):
    """Return state and infos after observing one row per task, as the harness does."""
    state, infos = learner.init(key()), []
    for row in rows_of(batch):
        state, info = learner.observe(learner.drift(state, key()), row, key())
        infos.append(info)
    return state, infos


def evidence(inner, batch, start, stop, model, s):
    """Return the log evidence of rows start..stop under one model, from the inner learner alone."""
    state, total = inner.init(key()), 0.0
    for row in rows_of(batch)[start:stop]:
        state, info = inner.observe(state, row, key())
        total += info["log_evidence"][s, model]
    return total


def enumerated(inner, batch, models, s):
    """Return the log joints of all segmentations by (run length, model) of the last segment."""
    t = batch.mask.shape[1]
    joints: dict[tuple[int, int], list[float]] = {}
    for cuts in itertools.product([False, True], repeat=t - 1):
        starts = [0, *(i + 1 for i, cut in enumerate(cuts) if cut)]
        log_prior = sum(math.log(HAZARD if cut else 1 - HAZARD) for cut in cuts)
        ends = [*starts[1:], t]
        for of_segment in itertools.product(range(models), repeat=len(starts)):
            joint = log_prior - len(starts) * math.log(models)
            for start, stop, model in zip(starts, ends, of_segment, strict=True):
                joint += evidence(inner, batch, start, stop, model, s)
            joints.setdefault((t - 1 - starts[-1], of_segment[-1]), []).append(joint)
    return joints


CASES = {
    "standard": {},
    "robust": {"beta_rlm": 0.2},
    "beta posterior": {"beta_p": 0.1, "beta_rlm": 0.2},
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("models", "d", "p"), [(1, 1, 1), (2, 2, 3)])
def test_posterior_and_best_segmentation_equal_enumeration(case, models, d, p):
    shape = problem(models, d, p)
    inner = bayes_linear.build(bayes_linear.Settings(**CASES[case]), shape)
    batch = series(9 if models == 1 else 5, models, d, p)
    settings = run_length.Settings(hazard=HAZARD, keep=40)
    state, infos = driven(run_length.build(settings, shape, inner), batch)
    for s in range(2):
        exact = enumerated(inner, batch, models, s)
        total = logsumexp([joint for joints in exact.values() for joint in joints])
        last = infos[-1]
        alive = np.isfinite(last["log_weight"][s])
        assert alive.sum() == len(exact)
        best = {k: max(joints) for k, joints in exact.items()}
        top = max(best.values())
        largest = last["map_log_joint"][s].max()
        for k in np.flatnonzero(alive):
            place = int(last["run_length"][s, k]), int(last["model"][s, k])
            weight = logsumexp(exact[place]) - total
            assert last["log_weight"][s, k] == pytest.approx(weight, abs=1e-9)
            gap = last["map_log_joint"][s, k] - largest
            assert gap == pytest.approx(best[place] - top, abs=1e-9)
    assert state["log_joint"].shape == (2, 40)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("models", "d", "p"), [(1, 1, 1), (2, 2, 3)])
def test_rows_one_by_one_in_one_call_and_uncompiled_agree(case, models, d, p):
    shape = problem(models, d, p)
    inner = bayes_linear.build(bayes_linear.Settings(**CASES[case]), shape)
    settings = run_length.Settings(hazard=HAZARD, keep=6)
    batch = series(30, models, d, p)
    batch.mask[1, [0, 7, 8, 29]] = False
    compiled = run_length.build(settings, shape, inner)
    generic = run_length.build(settings, shape, uncompiled(inner))
    one, _ = driven(compiled, batch)
    two, _ = compiled.observe(compiled.init(key()), batch, key())
    three, _ = driven(generic, batch)
    four, *_ = compiled.block(compiled.init(key()), batch, True)
    # Masked rows within a task are padding; a task without rows is time.
    assert (two["run_length"][1] <= one["run_length"][1]).all()
    two["run_length"][1] = one["run_length"][1]
    for other in (two, three, four):
        for name, array in one.items():
            np.testing.assert_allclose(other[name], array, rtol=1e-8, atol=1e-8, err_msg=name)


def test_tasks_without_rows_are_time_and_no_evidence():
    shape = problem()
    inner = bayes_linear.build(bayes_linear.Settings(), shape)
    learner = run_length.build(run_length.Settings(keep=5), shape, inner)
    batch = series(12)
    gaps = batch._replace(mask=batch.mask.copy())
    gaps.mask[:, [0, 4]] = False
    kept = Batch(*(np.delete(a, [0, 4], axis=1) for a in batch))
    with_gaps, infos = driven(learner, gaps)
    without, _ = driven(learner, kept)
    alive = np.isfinite(without["log_joint"])
    # Of ten kept rows, these runs hold the last one before the gap, too.
    without["run_length"] += alive & (without["run_length"] >= 7)
    for name, array in without.items():
        np.testing.assert_array_equal(with_gaps[name], array)
    assert np.isneginf(infos[0]["log_weight"]).all()


def test_any_learner_with_evidence_will_do():
    """gaussian-mean has a closed-form evidence and takes the uncompiled path."""
    shape = Problem("regression", (0,), 1, 1, 7)
    inner = gaussian_mean.build(gaussian_mean.Settings(), shape)
    batch = series(7)._replace(inputs=np.zeros((2, 7, 0)))
    learner = run_length.build(run_length.Settings(hazard=HAZARD, keep=10), shape, inner)
    _, infos = driven(learner, batch)
    exact = enumerated(inner, batch, 1, 1)
    total = logsumexp([joint for joints in exact.values() for joint in joints])
    for k in range(7):
        weight = logsumexp(exact[int(infos[-1]["run_length"][1, k]), 0]) - total
        assert infos[-1]["log_weight"][1, k] == pytest.approx(weight, abs=1e-9)


def test_the_prediction_is_the_evidence_of_the_next_row():
    """The predictive density after drift equals the ratio of the summed joints."""
    log_predictive = components.load_metric("log_predictive")

    shape = problem()
    inner = bayes_linear.build(bayes_linear.Settings(), shape)
    learner = run_length.build(run_length.Settings(hazard=HAZARD, keep=40), shape, inner)
    batch, scored = series(8), 0.0
    state = learner.init(key())
    for row in rows_of(batch):
        state = learner.drift(state, key())
        scored += log_predictive.score(learner.predict(state, row.inputs, key()), row)[0]
        state, _ = learner.observe(state, row, key())
    exact = enumerated(inner, batch, 1, 0)
    total = logsumexp([joint for joints in exact.values() for joint in joints])
    assert scored == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_first_prediction_without_a_drift_is_that_of_the_prior(compiled):
    """Streams that drift after the prediction request one before any segment has begun."""
    inner = bayes_linear.build(bayes_linear.Settings(), problem(), None)
    learner = run_length.build(
        run_length.Settings(keep=3), problem(), inner if compiled else uncompiled(inner)
    )
    batch = series()
    first = rows_of(batch)[0]
    prior = inner.predict(inner.init(key()), first.inputs, key())
    found = [learner.predict(learner.init(key()), first.inputs, key())]
    if compiled:
        assert learner.block is not None
        found.append(learner.block(learner.init(key()), first, False)[1])
    for one in found:
        np.testing.assert_allclose(logsumexp(one.log_weights, axis=1), 0, atol=1e-12)
        for each, alone in zip(one[1:], prior[1:], strict=True):
            np.testing.assert_array_equal(each, np.repeat(alone, 3, axis=1))


def test_a_learner_without_evidence_is_named():
    shape = problem()
    inner = bayes_linear.build(bayes_linear.Settings(), shape)
    silent = Learner(inner.init, inner.predict, lambda state, batch, seeds: (state, {}))
    learner = run_length.build(run_length.Settings(), shape, silent)
    with pytest.raises(LearnerError, match="gives no log evidence"):
        driven(learner, series(2))


def test_a_task_is_one_observation_of_a_learner_without_compiled_rows():
    shape = Problem("regression", (0,), 1, 5, 3)
    inner = gaussian_mean.build(gaussian_mean.Settings(), shape)
    learner = run_length.build(run_length.Settings(keep=4), shape, inner)
    state = learner.init(key())
    y = np.random.default_rng(0).normal(size=(2, 3, 5, 1))
    for task in range(3):
        batch = Batch(np.zeros((2, 5, 0)), y[:, task], np.ones((2, 5), bool))
        state, info = learner.observe(learner.drift(state, key()), batch, key())
    held = np.isfinite(info["log_weight"][0])
    assert sorted(info["run_length"][0, held]) == [0, 1, 2]
