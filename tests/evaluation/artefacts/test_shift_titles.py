"""Titles of the figures of drift widths and of kinds of shift: ties, failures, bounds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.evaluation.artefacts import drift_width, kinds_of_shift
from tests.evaluation.artefacts import paired
from tests.evaluation.artefacts.test_segment_figures import LEARNERS, MODES, SEEDS, stream, study

IMAGES = {"tasks": 10, "train_per_task": 5, "realisations": 2}


def drifts(values, cells, **others):
    """Return results on streams of these cells. values: [stream, learner, metric] or per seed."""
    streams = {name: stream(name, "transformed-images", **IMAGES) for name in cells}
    scores = np.broadcast_to(values, (len(cells), len(LEARNERS), 3, SEEDS))
    made = study(streams, drift_width.FACTS.uses, scores.copy(), cells)
    return dataclasses.replace(made, **others)


def kinds(changes, values, **others):
    """Return results on streams with these changes. values: [stream, learner, metric, seed]."""
    fields = {"tasks": 8, "train_per_task": 5}
    streams = {name: stream(name, "shifted-images", change=name, **fields) for name in changes}
    made = study(streams, kinds_of_shift.FACTS.uses, values)
    return dataclasses.replace(made, **others)


def random_values(streams, seed):
    """Return scores [stream, learner, metric, seed], of which vcl makes no decisions."""
    values = np.random.default_rng(seed).uniform(0.4, 0.8, (streams, len(LEARNERS), 3, SEEDS))
    values[:, 1, 1:] = np.nan
    return values


WIDTHS = {f"w{w}-{m}": {"drift_width": w, "drift_mode": m} for w in (0, 2) for m in MODES}


def test_the_title_says_who_leads_in_the_widest_drifts():
    values = random_values(len(WIDTHS), 1)
    results = drifts(values, WIDTHS)
    widest = values[2:].mean(axis=0)
    accuracy, alarms, found = widest.mean(axis=-1).T
    best = LEARNERS[int(np.argmax(accuracy))]
    said = (
        f"Drifts of 2 tasks, the widest: {best} is the most accurate of 2 methods,"
        f" {100 * accuracy.max():.1f} %; no other is significantly worse; vgs finds"
        f" {100 * found[0]:.1f} % of the drifts with {alarms[0]:.1f} alarms per drift (means over"
        " mixture and morph)"
    )
    assert not paired.worse(widest[0, 0], [widest[1, 0]]).any()
    assert drift_width.message(results) == drift_width.draw(results).get_suptitle() == said
    assert drift_width.caption(results).startswith(f"{said}. Width:")


ONE_MODE = {"now": {"drift_width": 0}, "wide": {"drift_width": 1}}


@pytest.mark.parametrize(
    ("values", "others", "said"),  # accuracy, alarms and recall of vgs and vcl
    [
        (
            [[0.8, 1, 0.5], [0.9, 2, 0.25]],
            {},
            "vcl is the most accurate of 2 methods, 90.0 %; all seeds alike, so no test; vgs"
            " finds the most drifts, 50.0 %, with 1.0 alarms per drift; all seeds alike, so no"
            " test",
        ),
        (
            [[0.9, 1, 0.5], [0.9, 2, 0.5]],
            {},
            "vgs and vcl are the most accurate of 2 methods, 90.0 %; vgs and vcl find the most"
            " drifts, 50.0 %, with 1.0 to 2.0 alarms per drift",
        ),
        (
            [[0.8, 1, 0], [0.9, 2, 0]],
            {},
            "vcl is the most accurate of 2 methods, 90.0 %; all seeds alike, so no test; no"
            " method finds a drift",
        ),
        (
            [[np.nan] * 3, [0.9, np.nan, np.nan]],
            {},
            "vcl has an accuracy of 90.0 %",
        ),
        (
            [[0.8, 1, 0.5], [0.9, 2, 0.75]],
            {"bounds": ["vcl"]},
            "vgs has an accuracy of 80.0 %; vgs finds 50.0 % of the drifts with 1.0 alarms per"
            " drift",
        ),
        ([[np.nan] * 3] * 2, {}, "no method has an accuracy"),
    ],
)
def test_the_title_of_drifts_is_true_for_ties_failures_and_bounds(values, others, said):
    scores = np.array([[[0.99] * 3] * 2, values])[..., None]
    message = drift_width.message(drifts(scores, ONE_MODE, **others))
    assert message == f"Drifts of 1 task, the widest: {said}"


def test_the_title_of_abrupt_changes_alone_has_no_width():
    message = drift_width.message(drifts(0.75, {"now": {"drift_width": 0}}))
    assert message == (
        "Abrupt drifts: vgs and vcl are the most accurate of 2 methods, 75.0 %; vgs and vcl find"
        " the most drifts, 75.0 %, with 0.8 alarms per drift"
    )


SPREAD = np.array([-3, -2, -1, 1, 2, 3]) / 100
"""Differences over seeds from a mean, of which 0.1 is t = 10.4 away."""


def test_the_title_of_drifts_says_who_is_significantly_worse_at_what():
    values = np.array([[0.8, 1, 0.5], [0.9, 2, 0.5]])[..., None] + np.zeros(SEEDS)
    values[0, 0] += SPREAD
    values[1, 2] -= 0.01 + SPREAD  # t = 1.0 below that of vgs
    message = drift_width.message(drifts(np.stack([values] * 2), ONE_MODE))
    assert message == (
        "Drifts of 1 task, the widest: vcl is the most accurate of 2 methods, 90.0 %; the other is"
        " significantly worse; vgs finds the most drifts, 50.0 %, with 1.0 alarms per drift; no"
        " other is significantly worse"
    )
    values[1, 2] -= 0.09
    message = drift_width.message(drifts(np.stack([values] * 2), ONE_MODE))
    assert message.endswith(
        "; vgs finds the most drifts, 50.0 %, with 1.0 alarms per drift; the"
        " other is significantly worse"
    )


def test_the_title_says_which_shifts_cost_most():
    values = random_values(3, 2)
    results = kinds(("map", "labels", "none"), values)
    lost = 100 * (values[2:, :, 0] - values[:2, :, 0]).mean(axis=-1)
    place = lost.mean(axis=1).argmax()
    learner = lost[place].argmax()
    change = ("affine map of images", "meaning of labels")[place]
    assert lost[place].max() > 0
    said = (
        f"Shifts in {change} cost the most accuracy, up to {lost[place].max():.1f} points"
        f" ({LEARNERS[learner]}); vgs notices {100 * values[place, 0, 1].mean():.1f} % of these"
    )
    assert kinds_of_shift.message(results) == kinds_of_shift.draw(results).get_suptitle() == said
    assert kinds_of_shift.caption(results).startswith(f"{said}. Streams differ only")


@pytest.mark.parametrize(
    ("accuracy", "found", "others", "said"),  # on labels and none, of vgs and vcl
    [
        (
            [[0.5, 0.6], [0.9, 0.9]],
            [0.25, 0.75],
            {},
            "cost up to 40.0 points of accuracy (vgs); vcl notices the most of these, 75.0 %;"
            " all seeds alike, so no test",
        ),
        (
            [[0.5, 0.6], [0.9, 0.9]],
            [1, 1],
            {},
            "cost up to 40.0 points of accuracy (vgs); vgs and vcl notice the most of these,"
            " 100.0 %",
        ),
        (
            [[0.5, 0.6], [0.9, 0.9]],
            [0.25, 0.75],
            {"bounds": ["vgs"]},
            "cost up to 30.0 points of accuracy (vcl); vcl notices 75.0 % of these",
        ),
        (
            [[np.nan, 0.6], [0.9, 0.9]],
            [np.nan, 0],
            {},
            "cost up to 30.0 points of accuracy (vcl); no method notices these",
        ),
        (
            [[0.5, 0.6], [0.9, 0.9]],
            [np.nan] * 2,
            {},
            "cost up to 40.0 points of accuracy (vgs)",
        ),
        ([[0.9, 0.95], [0.9, 0.9]], [1, 1], {}, None),
        (
            [[np.nan] * 2, [0.9, 0.9]],
            [1, 1],
            {},
            "No method has an accuracy with and without shifts",
        ),
    ],
)
def test_the_title_of_kinds_is_true_for_ties_failures_and_bounds(accuracy, found, others, said):
    scores = np.ones((2, 2, 3, SEEDS))
    scores[:, :, 0], scores[0, :, 1] = np.array(accuracy)[..., None], np.array(found)[..., None]
    message = kinds_of_shift.message(kinds(("labels", "none"), scores, **others))
    if said is None:
        assert message == "No shift costs a method accuracy"
    else:
        assert said in (message, message.removeprefix("Shifts in meaning of labels "))


def test_the_title_of_kinds_says_who_notices_significantly_less():
    scores = np.ones((2, 2, 3, SEEDS))
    scores[:, :, 0] = np.array([[0.5, 0.6], [0.9, 0.9]])[..., None]
    scores[0, 0, 1], scores[0, 1, 1] = 0.7 + SPREAD, 0.8
    assert kinds_of_shift.message(kinds(("labels", "none"), scores)) == (
        "Shifts in meaning of labels cost up to 40.0 points of accuracy (vgs); vcl notices the most"
        " of these, 80.0 %; the other is significantly worse"
    )
