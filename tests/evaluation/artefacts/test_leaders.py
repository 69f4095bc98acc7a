"""Sentences on the largest average accuracy where seeds failed, or where there is one."""

from __future__ import annotations

import numpy as np

from shiftbench.evaluation.artefacts import _continual, _leaders
from tests.evaluation.artefacts import paired
from tests.evaluation.scoring import continual_stores

STREAM = "permuted-mnist"


def last_row(learner, seeds=3):
    """Return the accuracy after the last task, mean over tasks in percent [seed]."""
    return 100 * continual_stores.matrix(learner, seeds=seeds)[:, -1].mean(axis=1)


def failing(learner, seeds):
    """Return a run of which some of three seeds failed."""
    status = ["failed: x" if seed in seeds else "ok" for seed in range(3)]
    matrix = continual_stores.matrix(learner)
    return continual_stores.run(continual_stores.stream(), learner, matrix, status=status)


def test_a_failed_seed_is_in_no_average_and_in_no_pair():
    study = continual_stores.study(("ewc", "vogn", "si"), runs=[failing("ewc", [0])])
    ewc, vogn, si = (last_row(name) for name in ("ewc", "vogn", "si"))
    ewc[0] = np.nan
    np.testing.assert_allclose(_continual.average(study, STREAM, "ewc"), ewc)
    assert paired.worse(vogn, [ewc, si]).tolist() == [False, True]
    assert _leaders.message(study, STREAM) == (
        f"{STREAM}: after 10 tasks, vogn has the largest average accuracy of 3 methods,"
        f" {vogn.mean():.1f} %; ewc is not significantly worse"
    )


def test_who_failed_in_all_seeds_is_not_counted():
    study = continual_stores.study(("ewc", "vogn"), runs=[failing("ewc", [0, 1, 2])])
    assert np.isnan(_continual.average(study, STREAM, "ewc")).tolist() == [True] * 3
    assert _leaders.message(study, STREAM) == (
        f"{STREAM}: after 10 tasks, vogn has an average accuracy of {last_row('vogn').mean():.1f} %"
    )


def test_without_a_common_seed_nobody_is_significantly_worse():
    runs = [failing("ewc", [0, 1]), failing("vogn", [2])]
    study = continual_stores.study(("ewc", "vogn"), runs=runs)
    assert _leaders.message(study, STREAM).endswith(" %; no other is significantly worse")


def test_one_seed_has_no_test():
    study = continual_stores.study(("ewc", "vogn", "joint"), seeds=1)
    (vogn,), joint = last_row("vogn", 1), last_row("joint", 1)
    assert _leaders.message(study, STREAM) == (
        f"{STREAM}: after 10 tasks, vogn has the largest average accuracy of 2 methods,"
        f" {vogn:.1f} % (joint: {joint[0]:.1f} %); one seed, so no test"
    )
