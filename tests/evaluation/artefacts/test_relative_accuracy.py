"""Fig. 3 of li2021vbs on tiny stores: lines, strips and error messages."""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.evaluation import highlights
from shiftbench.evaluation.artefacts import relative_accuracy
from tests.evaluation.artefacts import paired
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
    of_seeds = 100 * (study.by_task("images", "vbs-k6", "accuracy"))
    of_seeds -= 100 * study.by_task("images", "vcl", "accuracy")
    assert not panel.collections
    assert np.allclose([line.get_ydata() for line in thin], of_seeds), "of the leader alone"
    assert "thin lines: its seeds" in relative_accuracy.caption(study)
    more = study_of(seeds=4)
    panel = axes_with(relative_accuracy.draw(more), "by task")
    assert len(panel.collections) == 1
    assert "band: its paired 95 % interval" in relative_accuracy.caption(more)


def wide_study():
    stream = stores.image_stream()
    names = {"vcl": 0.8, "lp": 0.7, "ewc": 0.82, "si": 0.84, "map": 0.86, "vogn": 0.88, "vgs": 0.1}
    random = np.random.default_rng(1)  # so that differences vary from seed to seed
    runs = [
        stores.image_run(stream, name, score + random.normal(0, 0.0003, (4, 1)), n=4)
        for name, score in names.items()
    ]
    return stores.study("images", stream, stores.IMAGE_METRICS, runs)


def test_the_four_best_are_in_colour_and_named_at_their_ends_and_the_others_grey():
    panel = axes_with(relative_accuracy.draw(wide_study()), "by task")
    drawn = [line for line in panel.get_lines() if is_over_tasks(line)]
    grey = [line for line in drawn if line.get_color() == highlights.GREY]
    assert (len(drawn), len(grey), len(panel.collections)) == (6, 2, 1)
    named = [text.get_text() for text in panel.texts if text.get_position()[0] > 1]
    assert named == ["vcl", "ewc", "si", "map", "vogn"], "from the lowest end to the highest"


def test_a_line_far_below_leaves_the_axis_and_is_named():
    panel = axes_with(relative_accuracy.draw(wide_study()), "by task")
    (note,) = [text.get_text() for text in panel.texts if "beyond" in text.get_text()]
    assert "vgs" in note
    assert panel.get_ylim()[0] > 100 * (0.1 - 0.8)


def test_the_title_counts_methods_that_lead_and_trail_and_says_by_how_much():
    study = wide_study()
    (block,) = relative_accuracy.draw(study).subfigs
    means = study.cube["score_by_task"].sel(metric="accuracy", stream="images").mean("task")
    lead = 100 * float((means.sel(learner="vogn") - means.sel(learner="vcl")).mean())
    said = (
        "images: of 6 methods, 4 are above vcl and 2 below (95 % intervals, not"
        f" corrected); vogn leads most, by {lead:.1f} points; all others are significantly worse"
    )
    others = [means.sel(learner=name) for name in study.methods if name not in ("vcl", "vogn")]
    assert paired.worse(means.sel(learner="vogn"), others).all()
    assert block.get_suptitle() == said
    assert relative_accuracy.caption(study).startswith(f"{said}. ")


def test_one_method_leads_and_one_trails():
    stream = stores.image_stream()
    names = {"vcl": 0.8, "lp": 0.7, "vogn": 0.88}
    runs = [stores.image_run(stream, *of, n=4) for of in names.items()]
    study = stores.study("images", stream, stores.IMAGE_METRICS, runs)
    message = relative_accuracy.message(study, "images")
    said = "images: of 2 methods, 1 is above vcl and 1 below (95 % intervals, not corrected); vogn"
    assert message.startswith(f"{said} leads most,")


@pytest.mark.parametrize(("score", "verb"), [(0.6, "leads"), (0.9, "trails")])
def test_a_single_other_method_is_not_counted(score, verb):
    stream = stores.image_stream()
    runs = [stores.image_run(stream, *of, n=4) for of in (("vcl", score), ("vogn", 0.8))]
    study = stores.study("images", stream, stores.IMAGE_METRICS, runs)
    means = study.cube["score_by_task"].sel(metric="accuracy", stream="images").mean("task")
    lead = 100 * float((means.sel(learner="vogn") - means.sel(learner="vcl")).mean())
    assert abs(lead) > 5
    said = f"images: vogn {verb} vcl by {abs(lead):.1f} points"
    assert relative_accuracy.message(study, "images") == said


def test_methods_are_in_the_order_of_their_means():
    panel = axes_with(relative_accuracy.draw(wide_study()), "mean over tasks")
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert names == ["vogn", "map", "si", "ewc", "lp", "vgs"]


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
    figure = relative_accuracy.draw(stores.image_study())
    (images,) = [axes.child_axes for axes in figure.get_axes() if len(axes.child_axes) > 1]
    assert len(images) == 3
    shown = [axes.get_images()[0].get_array() for axes in images]
    assert not np.array_equal(shown[0], shown[1])


def test_images_do_not_overlap_and_the_caption_tells_whose_they_are():
    study = stores.image_study()
    ((name, store),) = study.streams.items()
    shift = np.zeros_like(store["shift"].values)
    shift[:, [5, 6, 7]] = True
    uneven = dataclasses.replace(
        study, streams={name: store.assign(shift=(store["shift"].dims, shift))}
    )
    figure = relative_accuracy.figure_style.figure(3.0, "")
    axes = figure.subplots()
    axes.set_xlim(-0.5, shift.shape[1] - 0.5)
    relative_accuracy._draw_images(axes, uneven, name)
    figure.draw_without_rendering()
    boxes = sorted((one.get_position().x0, one.get_position().x1) for one in axes.child_axes)
    assert len(boxes) == 4
    assert all(right <= left for (_, right), (left, _) in pairwise(boxes))
    assert "images: segments of the first seed." in relative_accuracy.caption(study)


def test_the_caption_speaks_of_grey_lines_only_where_there_are_any():
    assert "grey: the others" not in relative_accuracy.caption(stores.image_study())
    assert "grey: the others." in relative_accuracy.caption(wide_study())


def test_without_a_learner_that_infers_shifts_there_is_no_strip():
    study = stores.image_study(("vcl", "lp"))
    titles = [axes.get_title(loc="left") for axes in relative_accuracy.draw(study).get_axes()]
    assert not any("inferred" in title for title in titles)
    assert "no method of this study infers shifts" in relative_accuracy.caption(study)


def test_the_caption_states_coverage_and_cuts():
    caption = relative_accuracy.caption(stores.image_study())
    assert "3 of 3 runs per method" in caption
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


def two_streams(failed):
    """Return a study of two streams with detectors a, b and c, of which some fail, and vcl.

    failed: the detectors whose runs fail, by stream.
    """
    tree, cubes, streams = {}, [], {}
    for name, without in failed.items():
        stream = stores.image_stream()
        spec = json.loads(stream.attrs["spec"]) | {"stream": name}
        stream = stream.assign_attrs(spec=json.dumps(spec))
        runs = [stores.image_run(stream, "vcl", 0.8)]
        for number, one in enumerate("abc"):
            status = ["failed: x"] * 3 if one in without else None
            accuracy = 0.7 + 0.01 * number
            runs.append(stores.image_run(stream, one, accuracy, decides=True, status=status))
        alone = stores.study(name, stream, stores.IMAGE_METRICS, runs)
        tree |= {key: each for key, each in alone.scores.items() if key.startswith("runs")}
        cubes.append(alone.cube)
        streams[name] = stream
    tree["scores"] = xr.concat(cubes, "stream")
    return dataclasses.replace(alone, scores=tree, streams=streams)


def test_a_detector_that_failed_keeps_an_empty_row_of_its_own():
    figure = relative_accuracy.draw(two_streams({"one": "", "two": "a", "three": "abc"}))
    strips = [axes for axes in figure.get_axes() if "inferred" in axes.get_title(loc="left")]
    found = flags_of_task_3()
    for strip, empty in zip(strips, ([], [0], [0, 1, 2]), strict=True):
        (image,) = strip.get_images()
        assert [label.get_text() for label in strip.get_yticklabels()] == ["a", "b", "c"]
        assert image.get_extent() == [-0.5, 8.5, 2.5, -0.5]
        drawn = image.get_array().filled(np.nan)
        expected = [np.full(9, np.nan) if row in empty else found for row in range(3)]
        np.testing.assert_array_equal(drawn, expected)
        assert [text.get_position()[1] for text in strip.texts] == empty
        assert {text.get_text() for text in strip.texts} <= {"no decisions"}


def flags_of_task_3():
    return stores.flags(3).astype(float)


def test_a_detector_that_failed_on_the_first_stream_is_shown_on_the_others():
    study = two_streams({"one": "abc", "two": "c"})
    assert relative_accuracy._detecting_methods(study) == ["a", "b"]
    assert "strip below" in relative_accuracy.caption(study)


@pytest.mark.parametrize("others", [("lp",), ()], ids=["failed", "none"])
def test_a_baseline_without_others_that_ran_is_drawn_alone(others):
    stream = stores.image_stream()
    runs = [stores.image_run(stream, "vcl", 0.8)]
    runs += [stores.image_run(stream, one, 0.7, status=["failed: x"] * 3) for one in others]
    study = stores.study("images", stream, stores.IMAGE_METRICS, runs)
    panel = axes_with(relative_accuracy.draw(study), "by task")
    named = [text.get_text() for text in panel.texts if text.get_position()[0] > 1]
    assert named == ["vcl"]
    assert relative_accuracy.caption(study).startswith("images: no other method has a run")
