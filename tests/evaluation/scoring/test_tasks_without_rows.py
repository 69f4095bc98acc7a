"""Tasks without rows move no change that run lengths or R-FPOP find."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Learner, Problem
from shiftbench.evaluation.scoring import beam_lineage, segmentation
from shiftbench.methods.combinators import learned_beta, learned_prior, run_length
from shiftbench.methods.learners import bayes_linear, robust_fpop


def run_with_gaps(learner, values, mask, how):
    """Return the run of a learner on tasks of one value, some of them masked."""
    key, n = seeds.block([0], "gaps"), len(values)
    batch = Batch(np.ones((1, n, 1, 1, 1)), values[None, :, None], mask[None])
    if how == "block":
        _, _, info = learner.block(learner.init(key), batch, True)
    else:
        state, infos = learner.init(key), []
        for t in range(n):
            row = Batch(*(array[:, t : t + 1] for array in batch))
            state, info = learner.observe(learner.drift(state, key), row, key)
            infos.append(info)
        info = {name: np.stack([one[name] for one in infos], axis=1) for name in infos[0]}
    axes = ("seed", "task", "hypothesis")
    return xr.Dataset({f"info_{name}": (axes, array) for name, array in info.items()})


def learner_of(how):
    """Return a learner by a name."""
    shape = Problem("regression", (1, 1, 1), 1, 1, 80)
    if how == "robust-fpop":
        return robust_fpop.build(robust_fpop.Settings(), shape)
    robust = {"beta_rlm": 0.05} if how == "learned-beta" else {}
    inner = bayes_linear.build(bayes_linear.Settings(prior_variance=10.0, **robust), shape)
    if how == "tasks":
        inner = Learner(inner.init, inner.predict, inner.observe)
    over = {"learned-beta": learned_beta, "learned-prior": learned_prior}.get(how, run_length)
    return over.build(over.Settings(), shape, inner)


@pytest.mark.parametrize(
    "how", ["block", "compiled", "tasks", "learned-beta", "learned-prior", "robust-fpop"]
)
@pytest.mark.parametrize("gap", [(40, 45), (40, 60), (0, 7), (27, 33), (75, 80)])
def test_tasks_without_rows_leave_changes_where_they_are(how, gap):
    """The oracle is the series without these tasks, of which the hazard knows nothing."""
    learner = learner_of(how)
    values = np.random.default_rng(1).normal(size=80) / 2 + 5 * (np.arange(80) >= 30)
    mask = np.ones(80, bool)
    mask[slice(*gap)] = False
    kept = np.flatnonzero(mask)
    whole = run_with_gaps(learner, values, mask, how)
    rest = run_with_gaps(learner, values[kept], mask[kept], how)
    (found,) = segmentation.changepoints(whole)
    assert found.tolist() == kept[segmentation.changepoints(rest)[0]].tolist()
    if how != "robust-fpop":
        assert found.tolist() == [gap[1] if gap[0] < 30 < gap[1] else 30]
    since, without = segmentation.since_shift(whole)[0, kept], segmentation.since_shift(rest)[0]
    starts = np.where(without < len(kept), np.arange(len(kept))[:, None] - without, 0)
    expected = np.where(without < len(kept), kept[:, None] - kept[starts], beam_lineage.NEVER)
    held = np.isfinite(rest["info_log_weight"].values[0])
    np.testing.assert_array_equal(since[held], expected[held])


@pytest.mark.parametrize("how", ["compiled", "tasks", "learned-beta", "learned-prior"])
def test_a_task_of_several_rows_without_any_is_as_long_as_one_row(how):
    learner, key = learner_of(how), seeds.block([0], "gaps")
    inputs, targets = np.ones((1, 3, 1, 1, 1)), np.ones((1, 3, 1))
    state = learner.init(key)
    lengths = []
    for mask in ([True] * 3, [False] * 3, [False] * 3, [True, False, True]):
        batch = Batch(inputs, targets, np.array([mask]))
        state, info = learner.observe(learner.drift(state, key), batch, key)
        lengths.append(int(info["run_length"][0, np.isfinite(info["log_weight"][0])].max()))
    assert lengths == ([0, 1, 2, 3] if how == "tasks" else [2, 3, 4, 6])
