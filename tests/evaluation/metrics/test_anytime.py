"""Forgetting and metrics of looks inside tasks, against loops and known matrices."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from tests.evaluation.scoring import continual_stores

NAMES = ("forgetting", "anytime_accuracy", "min_acc", "worst_case_acc", "stability_gap")
METRICS = {name: components.load_metric(name) for name in NAMES}
NONE = np.nan
A = np.array([[0.9, NONE, NONE], [0.95, 0.7, NONE], [0.4, 0.65, 0.9]])


@pytest.fixture(scope="module")
def stream():
    return continual_stores.stream(tasks=3)


def run(stream, *matrices, looks=None):
    """Return a run with accuracies at the ends of tasks, or at looks [seed, task, look, task]."""
    if looks is None:
        return continual_stores.run(stream, "ewc", np.array(matrices))
    made = continual_stores.run(stream, "ewc", looks[:, :, -1])
    dims = ("after_metric", "seed", "task", "look", "tested_task")
    return made.assign(looked=(dims, np.stack([looks, 1 - looks, 0.1 * (1 - looks)])))


def drawn(seeds=2, tasks=4, looks=3):
    """Return random accuracies at looks, NaN for future tasks."""
    values = np.random.default_rng(0).random((seeds, tasks, looks, tasks))
    to_come = np.arange(tasks)[:, None, None] < np.arange(tasks)
    return np.where(to_come, NONE, values)


def scores(run, stream):
    return {name: metric.score(run, stream) for name, metric in METRICS.items()}


def test_a_matrix_by_hand(stream):
    found = scores(run(stream, A), stream)
    least = ((min(0.95, 0.4)) + 0.65) / 2
    assert found["forgetting"] == pytest.approx([((0.95 - 0.4) + (0.7 - 0.65)) / 2])
    assert found["min_acc"] == pytest.approx([least])
    assert found["worst_case_acc"] == pytest.approx([0.9 / 3 + 2 / 3 * least])
    assert found["anytime_accuracy"] == pytest.approx(
        [(0.9 + (0.95 + 0.7) / 2 + (0.4 + 0.65 + 0.9) / 3) / 3]
    )
    gaps = 0.9 - 0.95, ((0.95 - 0.4) + (0.7 - 0.65)) / 2
    assert found["stability_gap"] == pytest.approx([sum(gaps) / 2])


def test_a_drop_that_recovers_is_seen_by_looks_alone(stream):
    looks = np.repeat(np.where(np.isnan(A), NONE, 0.8)[None, :, None], 4, axis=2)
    looks[0, 1, 1, 0] = 0.1
    inside, ends = run(stream, looks=looks), run(stream, looks[0, :, -1])
    for name, expected in {
        "forgetting": (0.0, 0.0),
        "min_acc": ((0.1 + 0.8) / 2, 0.8),
        "worst_case_acc": (0.8 / 3 + (0.1 + 0.8) / 3, 0.8),
        "stability_gap": ((0.7 + 0.0) / 2, 0.0),
        "anytime_accuracy": (0.8 - 0.7 / (3 * 4 * 2), 0.8),
    }.items():
        found = [METRICS[name].score(one, stream) for one in (inside, ends)]
        assert found == pytest.approx(np.array(expected)[:, None]), name


def test_loops_over_random_looks_agree():
    values = drawn()
    seeds, tasks, count, _ = values.shape
    stream = continual_stores.stream(tasks=tasks)
    expected: dict[str, list[float]] = {name: [] for name in NAMES}
    for a in values:
        end, earlier = a[-1, -1], range(tasks - 1)
        best = [max(a[t, -1, j] for t in range(j, tasks - 1)) for j in earlier]
        least = [
            min(a[t, h, j] for t in range(j + 1, tasks) for h in range(count)) for j in earlier
        ]
        seen = [a[t, h, : t + 1].mean() for t in range(tasks) for h in range(count)]
        gaps = [
            np.mean([a[t - 1, -1, j] - min(a[t, :, j]) for j in range(t)]) for t in range(1, tasks)
        ]
        expected["forgetting"].append(np.mean([best[j] - end[j] for j in earlier]))
        expected["min_acc"].append(np.mean(least))
        expected["worst_case_acc"].append((end[-1] + sum(least)) / tasks)
        expected["anytime_accuracy"].append(np.mean(seen))
        expected["stability_gap"].append(np.mean(gaps))
    found = scores(run(stream, looks=values), stream)
    for name in NAMES:
        assert found[name].shape == (seeds,)
        assert found[name] == pytest.approx(expected[name]), name


def test_one_task_forgets_nothing():
    single = continual_stores.stream(tasks=1)
    found = scores(run(single, [[0.9]]), single)
    assert [found[name][0] for name in ("anytime_accuracy", "worst_case_acc")] == [0.9, 0.9]
    assert np.isnan([found[name] for name in ("forgetting", "min_acc", "stability_gap")]).all()


def test_a_run_that_failed_as_a_whole_has_no_scores(stream):
    nothing = run(stream, A).isel(seed=[]).drop_vars("tested")
    assert {found.shape for found in scores(nothing, stream).values()} == {(0,)}
