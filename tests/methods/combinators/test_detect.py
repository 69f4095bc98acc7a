"""A learner under a detector equals the same learner restarted at the rows of the alarms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from shiftbench.contract.blocks import one_by_one, same, same_results
from shiftbench.contract.problems import Parts, key
from shiftbench.core import seeds
from shiftbench.core.interface import Batch, LearnerError, Problem
from shiftbench.methods.combinators import detect, forget, run_length
from shiftbench.methods.learners import bayes_linear, gaussian_mean, linear_gaussian
from shiftbench.methods.learners import page_hinkley as chart
from tests.checkout import ROOT
from tests.methods.detectors.watched import watched

N, S = 260, 2
TABLE = Problem("regression", (2,), 1, 1, N)
VALUE = Problem("regression", (0,), 1, 1, N)
KEY = seeds.block(range(S), "detect")
LINEAR = linear_gaussian.build(linear_gaussian.Settings(noise_sd=0.5), TABLE)
LEVEL = gaussian_mean.build(gaussian_mean.Settings(noise_sd=1.0), VALUE)
ON = {"page-hinkley": 8.0, "adwin": 3.0, "kswin": 0.45, "focus": 8.0, "focus-zero": 8.0,
      "jumper": 2.0}  # fmt: skip


def rows_of(problem: Problem, n: int = N) -> Batch:
    """Return rows whose regression coefficients change twice, with one row masked."""
    rng, p = np.random.default_rng(7), problem.input_shape[0]
    x = rng.normal(size=(S, n, p))
    slope = np.where((np.arange(n) >= n // 3) & (np.arange(n) < 2 * n // 3), 2.0, -1.0)[:, None]
    y = (x * slope).sum(axis=2, keepdims=True) + slope + 0.5 * rng.normal(size=(S, n, 1))
    mask = np.ones((S, n), bool)
    mask[0, 5] = False
    return Batch(x, y, mask)


def over(learner, problem=TABLE, **settings):
    settings = {"signal": "standardised"} | settings
    return detect.build(detect.Settings(**settings), problem, learner)


def inner(name):
    """Return a learner with blocks: plain, Student's t, drifting, or with many hypotheses."""
    if name == "forget":
        return forget.build(forget.Settings(broadening="geometric", beta=0.98), TABLE, LINEAR)
    if name == "bayes-linear":
        return bayes_linear.build(bayes_linear.Settings(), TABLE)
    if name == "run-length":
        return run_length.build(run_length.Settings(keep=12), TABLE, LINEAR)
    return LINEAR


@pytest.mark.parametrize("drift_first", [True, False])
@pytest.mark.parametrize("detector", ON)
def test_a_block_gives_what_its_rows_give_one_by_one(detector, drift_first):
    learner, batch = over(LINEAR, detector=detector, threshold=ON[detector]), rows_of(TABLE)
    state = learner.init(KEY)
    expected = one_by_one(learner, state, batch, drift_first)
    assert expected[2]["shift"].sum() >= 2
    assert same_results(learner.block(state, batch, drift_first), expected)
    first, rest = (Batch(*(a[:, cut] for a in batch)) for cut in np.split(range(N), [101]))
    halfway, *_ = learner.block(state, first, drift_first)
    assert same(learner.block(halfway, rest, drift_first)[0], expected[0])


@pytest.mark.parametrize("drift_first", [True, False])
@pytest.mark.parametrize("signal", ["standardised", "score"])
@pytest.mark.parametrize("name", ["bayes-linear", "forget", "run-length"])
def test_blocks_of_other_learners_are_their_rows_too(name, signal, drift_first):
    learner = over(inner(name), signal=signal, threshold=6.0)
    batch, state = rows_of(TABLE, 150), learner.init(KEY)
    expected = one_by_one(learner, state, batch, drift_first)
    assert expected[2]["shift"].any()
    assert same_results(learner.block(state, batch, drift_first), expected)


@pytest.mark.parametrize("name", ["linear-gaussian", "bayes-linear", "forget", "run-length"])
def test_a_detector_that_never_fires_leaves_the_learner_alone(name):
    alone, batch = inner(name), rows_of(TABLE)
    learner = over(alone, threshold=1e9)
    found, predictive, info = learner.block(learner.init(KEY), batch, True)
    after, expected, of_learner = alone.block(alone.init(KEY), batch, True)
    assert same({k[5:]: a for k, a in found.items() if k.startswith("base.")}, after)
    assert all(np.array_equal(*pair) for pair in zip(predictive, expected, strict=True))
    assert not info["shift"].any()
    if "log_evidence" in of_learner:
        assert np.array_equal(info["log_evidence"], of_learner["log_evidence"])


@pytest.mark.long
def test_a_network_whose_detector_never_fires_is_the_network_alone():
    parts = Parts()
    alone, problem = parts.learner("map")
    learner = detect.build(detect.Settings(threshold=1e9), problem, alone)
    state, expected = learner.init(key("init")), alone.init(key("init"))
    for t in range(2):
        batch = parts.batch(problem, t)
        state, _ = learner.observe(state, batch, key("observe", t))
        expected, _ = alone.observe(expected, batch, key("observe", t))
    assert same({k[5:]: a for k, a in state.items() if k.startswith("base.")}, expected)


def test_after_an_alarm_the_learner_knows_the_rows_from_the_alarm_on():
    learner, batch = over(LINEAR, detector="focus-zero", threshold=8.0), rows_of(TABLE)
    state, _, info = learner.block(learner.init(KEY), batch, True)
    for s in range(S):
        last = int(np.flatnonzero(info["shift"][s, :, 0])[-1])
        since = Batch(*(array[s : s + 1, last:] for array in batch))
        fresh, _ = LINEAR.observe(LINEAR.init(KEY[:1]), since, KEY[:1])
        np.testing.assert_allclose(state["base.mean"][s], fresh["mean"][0], rtol=1e-12)


def test_alarms_are_those_of_the_detector_on_the_errors():
    settings = detect.Settings(signal="standardised", detector="adwin", threshold=3.0)
    learner, batch = detect.build(settings, TABLE, LINEAR), rows_of(TABLE)
    _, predictive, info = learner.block(learner.init(KEY), batch, True)
    mean, variance = (a.reshape(S, N) for a in (predictive.mean, predictive.variance))
    errors = (batch.targets[..., 0] - mean) / np.sqrt(variance)
    for s in range(S):
        seen = np.flatnonzero(batch.mask[s])
        found = watched(detect.detector_of(settings), errors[s, seen])
        assert seen[found.alarms].tolist() == np.flatnonzero(info["shift"][s, :, 0]).tolist()
        statistic = info["alarm_statistic"][s, seen, 0]
        np.testing.assert_array_equal(statistic, np.maximum(found.statistic, 0))


def test_the_detector_is_that_of_the_chart():
    """The learner always predicts 0, since its prior has no variance, so errors equal values."""
    still = gaussian_mean.build(gaussian_mean.Settings(prior_variance=1e-300), VALUE)
    batch = rows_of(VALUE)
    learner = over(still, VALUE, signal="error", threshold=8.0, delta=0.1)
    found = learner.block(learner.init(KEY), batch, True)[2]["shift"]
    page = chart.build(chart.Settings(threshold=8.0, delta=0.1), VALUE)
    expected = page.block(page.init(KEY), batch, True)[2]["shift"]
    assert expected.any() and np.array_equal(found, expected)


def test_a_task_is_learnt_from_the_start_if_one_of_its_rows_raises_an_alarm():
    problem = replace(TABLE, n_train=40)
    learner = over(LINEAR, problem, threshold=40.0)
    batch = rows_of(TABLE, 200)
    tasks = [Batch(*(a[:, i : i + 40] for a in batch)) for i in range(0, 200, 40)]
    state, alone, shifts = learner.init(KEY), LINEAR.init(KEY), []
    for task in tasks:
        state, info = learner.observe(state, task, KEY)
        shifts.append(info["shift"][:, 0])
        start = LINEAR.init(KEY)
        again = {
            k: np.where(info["shift"][:, :1].reshape(-1, *[1] * (a.ndim - 1)) > 0, start[k], a)
            for k, a in alone.items()
        }
        alone, _ = LINEAR.observe(again, task, KEY)
        assert same({k[5:]: a for k, a in state.items() if k.startswith("base.")}, alone)
    assert np.any(shifts) and not np.all(shifts)


def test_an_alarm_goes_back_to_the_warm_up_or_to_the_prior():
    warm, batch = rows_of(TABLE, 30), rows_of(TABLE)
    warmed, _ = LINEAR.observe(LINEAR.init(KEY), warm, KEY)
    for to, start in (("pretrained", warmed), ("scratch", LINEAR.init(KEY))):
        learner = over(LINEAR, to=to, threshold=6.0)
        state, _ = learner.begin(learner.init(KEY), warm, KEY)
        assert same({k[5:]: a for k, a in state.items() if k.startswith("base.")}, warmed)
        assert same({k[5:]: a for k, a in state.items() if k.startswith("home.")}, start)
        after, _, info = learner.block(state, batch, True)
        last = int(np.flatnonzero(info["shift"][1, :, 0])[-1])
        since = Batch(*(array[1:, last:] for array in batch))
        own = {name: array[1:] for name, array in start.items()}
        expected, _ = LINEAR.observe(own, since, KEY[1:])
        np.testing.assert_allclose(after["base.mean"][1], expected["mean"][0], rtol=1e-12)


def test_an_alarm_can_broaden_the_posterior():
    """Broadening equals `forget` applied before each task with an alarm."""
    how = {"broadening": "geometric", "beta": 0.1}
    learner = over(LINEAR, action="broaden", threshold=6.0, **how)
    batch, state = rows_of(TABLE), learner.init(KEY)
    after, _, info = learner.block(state, batch, True)
    assert same_results(learner.block(state, batch, True), one_by_one(learner, state, batch, True))
    assert not any(name.startswith("home.") for name in after)
    forgetting = forget.build(forget.Settings(**how), TABLE, LINEAR)
    expected = forgetting.init(KEY[:1])
    for i, shifted in enumerate(info["shift"][0, :, 0]):
        row = Batch(*(a[:1, i : i + 1] for a in batch))
        expected = forgetting.drift(expected, KEY) if shifted else expected
        expected, _ = forgetting.observe(expected, row, KEY)
    assert info["shift"][0].any()
    assert np.array_equal(after["base.mean"][:1], expected["base.mean"])
    with pytest.raises(LearnerError, match="detect: the learner inside cannot be broadened"):
        over(replace(LINEAR, broaden=None), action="broaden")


def test_settings_that_exclude_each_other_are_refused():
    for settings, said in (
        ({"detector": "ddm", "signal": "score"}, "set signal: error"),
        ({"detector": "adwin", "delta": 0.1}, "delta is a setting of page-hinkley"),
        ({"detector": "ddm", "direction": "up"}, "direction is not a setting of ddm"),
    ):
        (reason,) = detect.unsupported(detect.Settings(**settings))
        assert said in reason
    assert not list(detect.unsupported(detect.Settings()))
    assert detect.Settings().delta == detect.page_hinkley.DELTA


METHODS = ROOT / "config" / "methods" / "drift-detection.yaml"
SERIES = ("page-hinkley-reset", "adwin", "kswin", "focus", "focus-zero", "jumper")


@pytest.mark.long
@pytest.mark.parametrize("name", SERIES)
def test_thresholds_of_methods_give_about_500_rows_between_false_alarms(name):
    (of_detector, _) = yaml.safe_load(METHODS.read_text(encoding="utf-8"))[name]["pipeline"]
    problem = Problem("regression", (1, 1, 1), 1, 1, 2000)
    inside = bayes_linear.build(bayes_linear.Settings(), problem)
    learner = detect.build(detect.Settings(**of_detector["detect"]), problem, inside)
    repetitions = 100
    y = np.random.default_rng(44).normal(size=(repetitions, 2000, 1))
    batch = Batch(np.ones((*y.shape[:2], 1, 1, 1)), y, np.ones(y.shape[:2], bool))
    state = learner.init(seeds.block(range(repetitions), "false alarms"))
    shifts = learner.block(state, batch, True)[2]["shift"].sum()
    apart = repetitions * 2000 / shifts
    # About 400 alarms with a standard deviation of 20; ADWIN raises fewer.
    assert apart > 2000 if name == "adwin" else 350 < apart < 700
