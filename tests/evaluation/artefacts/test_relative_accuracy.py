"""Fig. 3 of li2021vbs on tiny stores: lines, strips and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import relative_accuracy
from tests.evaluation.scoring import stores


def axes_with(figure, words):
    found = [axes for axes in figure.get_axes() if words in axes.get_title(loc="left")]
    assert len(found) == 1
    return found[0]


def test_lines_are_differences_to_the_baseline_in_points():
    study = stores.image_study()
    lines = axes_with(relative_accuracy.draw(study), "by task").get_lines()
    drawn = [line.get_ydata() for line in lines if line.get_linewidth() > 1 and is_over_tasks(line)]
    accuracy = study.cube["score_by_task"].sel(metric="accuracy", stream="images").mean("seed")
    for line, learner in zip(drawn, ("vbs-k6", "lp"), strict=True):
        expected = 100 * (accuracy.sel(learner=learner) - accuracy.sel(learner="vcl"))
        assert line == pytest.approx(expected.values)


def is_over_tasks(line):
    return len(line.get_ydata()) == 9


def test_few_seeds_are_drawn_one_by_one_and_more_as_a_band():
    study = stores.image_study()
    panel = axes_with(relative_accuracy.draw(study), "by task")
    thin = [line for line in panel.get_lines() if line.get_linewidth() < 1 and is_over_tasks(line)]
    of_seeds = 100 * (study.by_task("images", "lp", "accuracy"))
    of_seeds -= 100 * study.by_task("images", "vcl", "accuracy")
    assert not panel.collections
    assert np.allclose([line.get_ydata() for line in thin[-3:]], of_seeds)
    assert "thin lines: the seeds" in relative_accuracy.caption(study)
    more = study_of(seeds=4)
    panel = axes_with(relative_accuracy.draw(more), "by task")
    assert len(panel.collections) == 1
    assert "bands: paired 95 % interval" in relative_accuracy.caption(more)


def study_of(seeds):
    stream = stores.image_stream()
    names = {"vcl": 0.8, "lp": 0.7}
    runs = [stores.image_run(stream, name, score, n=seeds) for name, score in names.items()]
    return stores.study("images", stream, stores.IMAGE_METRICS, runs)


def test_true_shifts_and_the_share_of_seeds_that_infer_one():
    figure = relative_accuracy.draw(stores.image_study())
    strip = axes_with(figure, "inferred shifts")
    assert strip.get_images()[0].get_array().tolist() == [[0, 0, 0, 1, 0, 0, 0, 0, 0]]
    marks = [line.get_xdata()[0] for line in strip.get_lines()]
    assert marks == [2.5, 5.5]


def test_one_image_a_segment():
    images = axes_with(relative_accuracy.draw(stores.image_study()), "images:").child_axes
    assert len(images) == 3
    shown = [axes.get_images()[0].get_array() for axes in images]
    assert not np.array_equal(shown[0], shown[1])


def test_without_a_learner_that_infers_shifts_there_is_no_strip():
    study = stores.image_study(("vcl", "lp"))
    titles = [axes.get_title(loc="left") for axes in relative_accuracy.draw(study).get_axes()]
    assert not any("inferred" in title for title in titles)
    assert "no learner of this study infers shifts" in relative_accuracy.caption(study)


def test_the_caption_states_coverage_and_cuts():
    caption = relative_accuracy.caption(stores.image_study())
    assert "3 of 3 runs per learner" in caption
    assert "9 tasks in place of 100" in caption


def test_without_vcl_the_remedy_is_named():
    with pytest.raises(UserError, match=r"one of its methods as `baseline`; add it"):
        relative_accuracy.draw(stores.image_study(("vbs-k6", "lp")))


def test_a_baseline_whose_runs_all_failed_is_named():
    stream = stores.image_stream()
    runs = [
        stores.image_run(stream, "vcl", 0.8, status=["failed: x"] * 3),
        stores.image_run(stream, "lp", 0.7),
    ]
    study = stores.study("images", stream, stores.IMAGE_METRICS, runs)
    with pytest.raises(UserError, match="every run of vcl on images failed"):
        relative_accuracy.draw(study)
