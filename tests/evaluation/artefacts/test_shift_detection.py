"""The figure of shift detection on small stores: panels and error messages."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import alarm_curves, shift_detection
from shiftbench.evaluation.scoring import shift_probabilities
from tests.evaluation.scoring import stores


@pytest.fixture(scope="module")
def study():
    return stores.toy_study(6)


def axes_with(figure, words):
    (found,) = [axes for axes in figure.get_axes() if words in axes.get_title(loc="left")]
    return found


def test_delays_and_misses_are_all_true_shifts(study):
    late = axes_with(shift_detection.draw(study), "delay")
    bars = [(bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in late.patches]
    for row in range(len(study.methods)):
        assert sum(width for y, width in bars if round(y) == row) == pytest.approx(100)


def test_shares_and_alarms_are_those_of_the_runs(study):
    figure = shift_detection.draw(study)
    share = axes_with(figure, "share of seeds").collections[0].get_array()
    detectors = shift_detection._detectors_of(study, "toy-step")
    first = [np.mean([np.isfinite(d[0]) for d in one.delays]) for one in detectors]
    np.testing.assert_allclose(share[:, 0], first)
    alarms = axes_with(figure, "false alarms").get_lines()
    drawn = [line.get_xdata()[0] for line in alarms if line.get_marker() in "osD"]
    np.testing.assert_allclose(drawn, [one.alarms.mean() for one in detectors])


def test_reliability_is_drawn_right_after_and_in_hindsight_with_its_counts(study):
    figure = shift_detection.draw(study)
    for when in ("right after the task", "in hindsight"):
        axes = axes_with(figure, when)
        assert len(axes.containers) == len(study.methods)
    tasks = study.streams["toy-step"].sizes["task"]
    counts = [axes for axes in figure.get_axes() if axes.get_ylabel() == "tasks"]
    for axes in counts:
        assert [line.get_ydata().sum() for line in axes.get_lines()] == [6 * (tasks - 1)] * 3


def test_the_caption_has_the_brier_score_and_coverage(study):
    caption = shift_detection.caption(study)
    for detector in shift_detection._detectors_of(study, "toy-step"):
        p, true = detector.probabilities[shift_detection.AFTER]
        assert f"{study.label(detector.name)} {((p - true) ** 2).mean():.3f} = " in caption
    assert "6 of 6 runs per method" in caption


def test_learners_without_decisions_are_left_out_and_alone_refused():
    figure = shift_detection.draw(stores.image_study(("vbs-k6", "vcl")))
    assert len(axes_with(figure, "delay").get_yticks()) == 1
    with pytest.raises(UserError, match="a method that decides about shifts on images; add it"):
        shift_detection.draw(stores.image_study(("vcl", "lp")))


def test_few_tasks_give_no_curve_of_calibration():
    study = stores.toy_study(1)
    tasks = study.streams["toy-step"].sizes["task"]
    assert tasks - 1 < shift_detection.FEWEST * shift_detection.BINS
    titles = [axes.get_title(loc="left") for axes in shift_detection.draw(study).get_axes()]
    assert not any("after the task" in title or "hindsight" in title for title in titles)
    assert "not judged on fewer than 50 tasks" in shift_detection.caption(study)


def test_bins_of_few_tasks_are_left_out_and_two_points_are_not_joined(study):
    detectors = shift_detection._detectors_of(study, "toy-step")
    axes = axes_with(shift_detection.draw(study), "right after the task")
    for detector, container in zip(detectors, axes.containers, strict=True):
        p, true = detector.probabilities[shift_detection.AFTER]
        curve = shift_probabilities.reliability(p, true, shift_detection.BINS)
        enough = curve.count >= shift_detection.FEWEST
        assert container.lines[0].get_ydata() == pytest.approx(100 * curve.observed[enough])
        assert (container.lines[0].get_linestyle() == "None") == (enough.sum() < 3)


def test_the_title_says_who_finds_most_and_who_raises_the_fewest_alarms(study):
    (block,) = shift_detection.draw(study).subfigs
    detectors = shift_detection._detectors_of(study, "toy-step")
    shares = [np.isfinite(np.concatenate(one.delays)).mean() for one in detectors]
    best = detectors[int(np.argmax(shares))]
    said = block.get_suptitle()
    assert said.startswith("toy-step: ") and study.label(best.name) in said
    assert f"most true shifts, {100 * max(shares):.0f} %" in said
    assert f"{min(one.alarms.mean() for one in detectors):.2f}" in said
    assert shift_detection.caption(study).startswith(said)


def test_a_shift_that_not_all_seeds_have_is_labelled_with_their_number(study, monkeypatch):
    monkeypatch.setattr(shift_detection, "LABELLED", 99)
    shifts = axes_with(shift_detection.draw(study), "share of seeds")
    (detector, *_) = shift_detection._detectors_of(study, "toy-step")
    numbers = [len(delays) for delays in detector.delays]
    labels = [label.get_text() for label in shifts.get_xticklabels()]
    assert len(labels) == max(numbers)
    for k, label in enumerate(labels):
        seeds = sum(number > k for number in numbers)
        whole = f"{k + 1}" if seeds == len(numbers) else f"{k + 1}\n{seeds} of {len(numbers)} seeds"
        assert label == whole


def test_the_caption_counts_methods_in_colour_only_beside_grey_ones(study):
    assert "In colour" not in shift_detection.caption(study)


def without_shifts(study, *names):
    """Return the study on streams of these names: "changing" has shifts, others have none."""
    ((first, store),) = study.streams.items()
    steady = store.assign(shift=store["shift"] & False).assign_attrs(store.attrs)
    tree = {"scores": xr.concat([study.cube] * len(names), "stream").assign_coords(stream=[*names])}
    for learner in study.methods:
        tree |= {f"runs/{name}/{learner}": study.run(first, learner) for name in names}
    streams = {name: store if name == "changing" else steady for name in names}
    return dataclasses.replace(study, scores=tree, streams=streams)


def test_a_stream_without_shifts_is_left_out(study):
    two = without_shifts(study, "steady", "changing")
    figure = shift_detection.draw(two)
    (block,) = figure.subfigs
    assert block.get_suptitle().startswith("changing: ")
    caption = shift_detection.caption(two)
    assert "steady" not in caption and " on changing" not in caption


@pytest.mark.parametrize("module", [shift_detection, alarm_curves])
def test_a_study_without_a_stream_with_shifts_is_refused(study, module):
    with pytest.raises(UserError, match="needs a stream with shifts; add it"):
        module.draw(without_shifts(study, "steady"))
