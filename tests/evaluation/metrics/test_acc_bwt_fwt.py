"""Final accuracy, accuracy of just-learnt tasks, and backward and forward transfer, against
sums by hand.
"""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core.errors import UserError
from tests.evaluation.scoring import continual_stores, stores

acc = components.load_metric("acc")
bwt = components.load_metric("bwt")
fwt = components.load_metric("fwt")
learning_accuracy = components.load_metric("learning_accuracy")

NONE = np.nan
A = np.array([[0.9, NONE, NONE], [0.8, 0.7, NONE], [0.4, 0.65, 0.95]])


@pytest.fixture(scope="module")
def stream():
    return continual_stores.stream(tasks=3)


def run(stream, *matrices, variant="ewc", **names):
    return continual_stores.run(stream, variant, np.array(matrices), **names)


def test_equations_64_to_66_of_one_matrix(stream):
    ours, scratch = run(stream, A), run(stream, A - 0.1 * np.eye(3), variant="independent")
    assert acc.score(ours, stream) == pytest.approx([(0.4 + 0.65 + 0.95) / 3])
    assert bwt.score(ours, stream) == pytest.approx([((0.4 - 0.9) + (0.65 - 0.7)) / 2])
    assert learning_accuracy.score(ours, stream) == pytest.approx([(0.9 + 0.7 + 0.95) / 3])
    assert fwt.score(ours, stream, scratch) == pytest.approx([0.1])


def test_first_and_last_task_in_the_end(stream):
    first, last = (components.load_metric(name) for name in ("acc_first", "acc_last"))
    ours, scratch = run(stream, A), run(stream, A, variant="independent")
    assert first.score(ours, stream) == pytest.approx([0.4])
    assert last.score(ours, stream) == pytest.approx([0.95])
    assert first.score(scratch, stream) == pytest.approx([0.9])  # just after learning, as for acc


def test_the_first_task_has_no_forward_transfer(stream):
    scratch = run(stream, A - np.diag([0.5, 0.0, 0.0]), variant="independent")
    assert fwt.score(run(stream, A), stream, scratch) == pytest.approx([0.0])


def test_loops_over_random_matrices_agree(stream):
    random = np.random.default_rng(0)
    ours, theirs = random.random((2, 4, 3, 3))
    by_hand = {
        "acc": [sum(a[2, j] for j in range(3)) / 3 for a in ours],
        "bwt": [sum(a[2, j] - a[j, j] for j in range(2)) / 2 for a in ours],
        "fwt": [sum(a[j, j] - s[j, j] for j in (1, 2)) / 2 for a, s in zip(ours, theirs)],  # noqa: B905
    }
    mine, scratch = run(stream, *ours), run(stream, *theirs, variant="independent")
    assert acc.score(mine, stream) == pytest.approx(by_hand["acc"])
    assert bwt.score(mine, stream) == pytest.approx(by_hand["bwt"])
    assert fwt.score(mine, stream, scratch) == pytest.approx(by_hand["fwt"])


def test_forward_transfer_is_paired_by_seed(stream):
    ours = run(stream, A, A, A)
    scratch = run(stream, A - 0.2 * np.eye(3), A - 0.3 * np.eye(3), variant="independent", first=1)
    found = fwt.score(ours, stream, scratch.isel(seed=[1, 0]))  # seeds 2 and 1
    assert found == pytest.approx([NONE, 0.2, 0.3], nan_ok=True)


def test_without_a_reference_there_is_no_forward_transfer(stream):
    assert np.isnan(fwt.score(run(stream, A, A), stream, None)).tolist() == [True, True]


def test_one_task_has_no_transfer():
    single = continual_stores.stream(tasks=1)
    ours = run(single, [[0.9]])
    assert acc.score(ours, single) == [0.9]
    assert np.isnan(bwt.score(ours, single))
    assert np.isnan(fwt.score(ours, single, ours))


def test_a_run_that_failed_as_a_whole_has_no_scores(stream):
    nothing = run(stream, A).isel(seed=[]).drop_vars("tested")
    assert acc.score(nothing, stream).shape == (0,)
    assert fwt.score(run(stream, A), stream, nothing) == pytest.approx([NONE], nan_ok=True)


@pytest.mark.parametrize("metric", [acc, bwt, learning_accuracy])
def test_streams_that_do_not_look_back_are_refused(metric):
    images = stores.image_stream()
    with pytest.raises(UserError, match="need the metric accuracy on a stream that judges"):
        metric.score(stores.image_run(images, "vcl", 0.8), images)


def test_a_run_without_accuracy_is_refused(stream):
    with pytest.raises(UserError, match="need the metric accuracy"):
        acc.score(run(stream, A).sel(after_metric=["nll"]), stream)
