"""Scores of kept predictions, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import predictions, referral
from shiftbench.evaluation.scoring.predictions import PredictedRows, RowsAtShift
from tests.evaluation.scoring import referral_stores

LOG2 = np.log(2)


def rows(n=200, classes=2, seed=0):
    random = np.random.default_rng(seed)
    probability = random.dirichlet(np.ones(classes), n)
    target = np.array([random.choice(classes, p=p) for p in probability])
    entropy = -(probability * np.log(probability)).sum(axis=1)
    return PredictedRows(probability, target, entropy * random.uniform(0, 1, n))


def score(metric, *stores):
    return components.load_metric(metric).score(*stores)


def test_mutual_information_by_hand():
    """If two draws are certain of different classes, all uncertainty is about the parameters."""
    probability = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    found = PredictedRows(probability, np.zeros(3, int), np.array([0.0, LOG2, 0.2]))
    mixed = -0.9 * np.log(0.9) - 0.1 * np.log(0.1)
    assert found.mutual_information == pytest.approx([LOG2, 0, mixed - 0.2])
    assert found.entropy == pytest.approx([LOG2, LOG2, mixed])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("by", ["mutual_information", "entropy"])
def test_auc_after_referral_is_that_of_scikit_learn_on_what_is_kept(share, by):
    whole = rows()
    bound = np.sort(getattr(whole, by))[::-1][round(share * 200)]
    left = getattr(whole, by) <= bound  # there are no ties, as the draws are continuous
    assert left.sum() == 200 - round(share * 200)
    expected = metrics.roc_auc_score(whole.target[left], whole.probability[left, 1])
    assert referral.auc(referral.kept(whole, share, by)) == pytest.approx(expected)


def test_auc_is_the_share_of_pairs_in_the_right_order():
    found = rows(60)
    sick, well = (found.probability[found.target == k, 1] for k in (1, 0))
    pairs = (sick[:, None] > well).mean() + 0.5 * (sick[:, None] == well).mean()
    assert referral.auc(found) == pytest.approx(pairs)


def test_of_several_classes_auc_is_the_mean_of_each_against_the_rest():
    found = rows(300, classes=4)
    each = [metrics.roc_auc_score(found.target == k, found.probability[:, k]) for k in range(4)]
    assert referral.auc(found) == pytest.approx(np.mean(each))


def test_what_is_kept_of_one_class_has_no_auc_but_an_accuracy():
    probability = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    found = PredictedRows(probability, np.array([0, 0, 1]), np.array([0.3, 0.6, 0.0]))
    assert np.isnan(referral.auc(referral.kept(found, 1 / 3)))
    assert referral.accuracy(referral.kept(found, 1 / 3)) == 1


def test_rows_without_mutual_information_are_referred_by_lot():
    """Neither rounding nor the order of the data decides, although one class comes first."""
    found = rows(4000)
    order = np.argsort(found.target, kind="stable")
    rounding = np.random.default_rng(1).normal(0, 1e-8, 4000)
    point = PredictedRows(
        found.probability[order], found.target[order], found.entropy[order] + rounding
    )
    assert not point.mutual_information.any()
    left = referral.kept(point, 0.3)
    assert len(left.target) == 2800
    assert left.target.mean() == pytest.approx(found.target.mean(), abs=0.02)


def test_brier_and_calibration_equal_a_reference():
    for classes in (2, 5):
        found = rows(500, classes)
        for kind in (np.float32, np.float64):
            given = found._replace(probability=found.probability.astype(kind))
            pair = (given.target, given.probability)
            reference = brier_score_loss(*pair, labels=range(classes), scale_by_half=True)
            assert referral.brier(given) == reference
        true, said = calibration_curve(found.correct, found.confidence, n_bins=15)
        share = np.histogram(found.confidence, 15, (0, 1))[0] / 500
        expected = share[share > 0] @ np.abs(true - said)
        assert referral.calibration_error(found) == pytest.approx(expected)


def test_entropy_that_ranks_errors_perfectly_has_an_area_of_one():
    assert referral.auc_of(np.array([0.1, 0.2, 0.3]), np.array([False, True, True])) == 1
    assert np.isnan(referral.auc_of(np.array([0.1, 0.2]), np.array([False, False])))


def test_new_rows_of_larger_doubt_are_told_from_learnt_ones():
    probability, target = np.full((2, 2), 0.5), np.zeros(2, int)
    sure, unsure = (PredictedRows(probability, target, np.full(2, LOG2 - x)) for x in (0.1, 0.2))
    assert referral.novelty(RowsAtShift(new=unsure, learnt=sure)) == 1
    assert referral.novelty(RowsAtShift(new=sure, learnt=unsure)) == 0
    assert referral.novelty(RowsAtShift(new=unsure, learnt=sure), "entropy") == 0.5


def test_metrics_are_of_each_seed_and_leave_masked_rows_out():
    stream = referral_stores.stream()
    run = referral_stores.run(stream, "radial", masked=20)
    of_first = predictions.tested(run)[0][0]
    assert of_first.probability.shape == (100, 2)
    expected = metrics.roc_auc_score(
        run["after_target"].values[0, 0, :100], run["after_probability"].values[0, 0, :100, 1]
    )
    assert score("auc", run, stream)[0] == pytest.approx(expected)
    at_30 = referral.accuracy(referral.kept(of_first, 0.3))
    assert score("accuracy_at_30", run, stream)[0] == pytest.approx(at_30)
    for name in referral_stores.METRICS:
        assert (
            score(name, run, stream).shape == (3,) and np.isfinite(score(name, run, stream)).all()
        )


def test_around_shifts_new_rows_are_those_before_the_first_task_of_a_segment():
    stream = referral_stores.stream(shifts=[0, 2, 3], tasks=4)
    run = referral_stores.run(stream, "radial", rows=50)
    (first, second), *_ = predictions.shifts(run, stream)
    np.testing.assert_array_equal(first.new.target, run["before_target"].values[0, 2])
    np.testing.assert_array_equal(first.learnt.target, run["after_target"].values[0, 1])
    np.testing.assert_array_equal(second.new.target, run["before_target"].values[0, 3])
    each = [referral.novelty(shift, "entropy") for shift in (first, second)]
    assert score("ood_auc_entropy", run, stream)[0] == pytest.approx(np.mean(each))
    pooled = predictions.pooled([first.new, second.new])
    assert len(pooled.target) == 100
    for name, of_rows in (
        ("accuracy", referral.accuracy),
        ("brier", referral.brier),
        ("ece", referral.calibration_error),
    ):
        assert score(f"new_segment_{name}", run, stream)[0] == pytest.approx(of_rows(pooled))


def test_a_stream_of_one_segment_has_no_rows_of_new_ones():
    stream = referral_stores.stream()
    run = referral_stores.run(stream, "radial")
    assert np.isnan(score("ood_auc", run, stream)).all()
    with pytest.raises(UserError, match=r"one segment.*more tasks"):
        score("new_segment_brier", run, stream)


def test_a_referral_set_of_one_class_is_refused_with_its_place():
    stream = referral_stores.stream(tasks=2)
    run = referral_stores.run(stream, "radial")
    run["after_target"][1, 1] = 0
    with pytest.raises(UserError, match=r"stream table, seed 1, task 1: .* all 120 are of class 0"):
        score("auc_at_30", run, stream)


def test_a_run_that_kept_nothing_says_so():
    stream = referral_stores.stream()
    run = referral_stores.run(stream, "radial").drop_vars("after_target")
    with pytest.raises(UserError, match=r"keeps: \[predictions\]"):
        score("auc", run, stream)


def test_seeds_that_all_failed_have_no_scores():
    stream = referral_stores.stream(shifts=[1], tasks=2)
    none = referral_stores.run(stream, "radial").isel(seed=[])
    for name in (*referral_stores.METRICS, *referral_stores.OF_SHIFTS):
        assert score(name, none, stream).shape == (0,)
