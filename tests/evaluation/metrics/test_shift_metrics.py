"""Precision, recall, F1 and agreement of inferred shifts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.evaluation.scoring import shift_matching
from shiftbench.evaluation.theory import exact_segmentation
from tests.evaluation.scoring import stores
from tests.evaluation.scoring.stores import flags

exact_map_agreement = components.load_metric("exact_map_agreement")
jump_f1 = components.load_metric("jump_f1")
shift_precision = components.load_metric("shift_precision")
shift_recall = components.load_metric("shift_recall")


@pytest.fixture(scope="module")
def images():
    return stores.image_stream()


def decided(stream, *places):
    """Return a run of one hypothesis with a seed per set of places; true shifts are 3 and 6."""
    shift = np.stack([flags(*one) for one in places])[..., None].astype(float)
    infos = {"parent": np.zeros_like(shift), "shift": shift}
    score = np.zeros((1, len(places), 9))
    return stores.run_store(score, ["accuracy"], stream, "vbs", [["x", {}]], infos)


def test_precision_and_recall_at_exact_positions(images):
    run = decided(images, (3, 6), (3,), (2, 3, 4, 5), (4, 7), ())
    precision = shift_precision.score(run, images)
    assert precision[:4] == pytest.approx([1, 1, 1 / 4, 0])
    assert np.isnan(precision[4])  # nothing is inferred: no precision, and recall 0
    assert shift_recall.score(run, images) == pytest.approx([1, 1 / 2, 1 / 2, 0, 0])


def test_f1_matches_one_to_one_within_one_step(images):
    # Of two inferred jumps around a true one, only one is matched.
    run = decided(images, (4, 7), (2, 4), (3,), (), (5, 8))
    assert jump_f1.score(run, images) == pytest.approx([1, 2 / 4, 2 / 3, 0, 1 / 2])


def test_matching_equals_brute_force():
    random = np.random.default_rng(1)
    for _ in range(200):
        a, b = random.random((2, 8)) < 0.35
        left, right = np.flatnonzero(a), np.flatnonzero(b)
        short, long = sorted((left, right), key=len)
        best = max(
            sum(abs(i - j) <= 1 for i, j in zip(short, order, strict=True))
            for order in itertools.permutations(long, len(short))
        )
        assert shift_matching.count_matched(a, b, margin=1) == best


def test_learners_without_decisions_have_no_score(images):
    run = stores.image_run(images, "vcl", 0.8)
    for metric in (shift_precision, shift_recall, jump_f1, exact_map_agreement):
        assert np.isnan(metric.score(run, images)).all()
        assert metric.score(run.isel(seed=[]), images).shape == (0,)


def test_a_wide_bayes_beam_finds_the_exact_map_and_greedy_search_does_not():
    stream = stores.toy_stream(20)
    wide = stores.toy_run(stream, "wide", 20, size=24, weights="bayes")
    greedy = stores.toy_run(stream, "greedy", 20, size=1)
    assert exact_map_agreement.score(wide, stream).mean() >= 0.95
    assert 0.05 < exact_map_agreement.score(greedy, stream).mean() < 0.6


def test_pooled_f1_of_the_exact_map_is_that_of_the_notes():
    # notes/vbs.md, C: .729 over 200 seeds with 1.50 jumps; these are 200 other seeds.
    stream = stores.toy_stream(200)
    model = exact_segmentation.JumpModel(0.25, 0.0, 1.0, 1.0, stores.LOG_ODDS)
    exact = np.stack(
        [exact_segmentation.most_likely_jumps(x, model) for x in stream["value"].values]
    )
    counts = shift_matching.compared(exact, stream["shift"].values, margin=1)
    pooled = 2 * counts.matched.sum() / (counts.inferred.sum() + counts.true.sum())
    assert pooled == pytest.approx(0.729, abs=0.08)
    assert counts.inferred.mean() == pytest.approx(1.50, abs=0.15)
