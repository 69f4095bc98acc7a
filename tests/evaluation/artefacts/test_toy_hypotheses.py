"""Fig. 2 of li2021vbs on tiny stores: the chosen seed, the lines, and error messages."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import toy_hypotheses
from shiftbench.evaluation.scoring import beam_lineage
from tests.evaluation.scoring import stores


@pytest.fixture(scope="module")
def study():
    return stores.toy_study()


def beam_of_two(parent):
    """Return a run of a beam without shifts, from parents [seed, task, 2]."""
    parent = np.array(parent)
    weight = np.broadcast_to(np.log([0.7, 0.3]), parent.shape)
    dims = ("seed", "task", "hypothesis")
    return xr.Dataset({"info_parent": (dims, parent), "info_log_weight": (dims, weight)})


def test_the_first_seed_in_which_the_winner_was_behind():
    steady = [[0, 0], [0, 1], [0, 1], [0, 1]]
    crossing = [[0, 0], [0, 1], [1, 0], [0, 1]]  # slots swap just before task 2
    assert toy_hypotheses.first_overtaking(beam_of_two([steady, crossing])) == (1, 2)
    assert toy_hypotheses.first_overtaking(beam_of_two([steady])) == (0, None)


def test_lines_are_posterior_means_along_the_lineage(study):
    figure = toy_hypotheses.draw(study)
    run = study.run("toy-step", "vbs-k2")
    seed, _ = toy_hypotheses.first_overtaking(run)
    level = next(axes for axes in figure.get_axes() if axes.get_ylabel() == "value")
    drawn = {line.get_label(): line.get_ydata() for line in level.get_lines()}
    for hypothesis in (0, 1):
        slots = beam_lineage.lineage(run, hypothesis)
        expected = beam_lineage.along(run, "posterior_mean", slots)[seed, :, 0]
        assert drawn[f"hypothesis {hypothesis + 1}"] == pytest.approx(expected)
    assert drawn["true mean"] == pytest.approx(study.streams["toy-step"]["level"].values[seed])


def test_one_panel_a_metric_with_one_line_a_kind_of_weights(study):
    panels = {axes.get_ylabel(): axes for axes in toy_hypotheses.draw(study).get_axes()}
    jump = panels[toy_hypotheses.LABELS["jump_f1"]]
    _, labels = jump.get_legend_handles_labels()
    assert sorted(labels) == ["Bayes weights", "exact MAP", "paper's weights"]
    assert toy_hypotheses.LABELS["exact_map_agreement"] in panels


def test_the_caption_names_seed_step_and_coverage(study):
    caption = toy_hypotheses.caption(study)
    assert "a: seed" in caption
    assert "4 of 4 runs per method" in caption


def test_the_title_says_who_was_behind_and_what_beams_find(study):
    said = toy_hypotheses.message(study)
    assert toy_hypotheses.draw(study).get_suptitle() == said
    assert toy_hypotheses.caption(study).startswith(f"{said}. ")
    scores = {name: study.score("toy-step", name, "jump_f1").mean() for name in study.methods}
    best = f"{100 * max(scores.values()):.1f} %"
    assert f"K = 2, {best}" in said or f"to {best} (K = 2)" in said
    assert "(seed " in said or said.startswith("In no seed")


def test_shares_are_drawn_in_percent(study):
    panels = {axes.get_ylabel(): axes for axes in toy_hypotheses.draw(study).get_axes()}
    drawn = panels[toy_hypotheses.LABELS["jump_f1"]].containers[0].lines[0].get_ydata()
    scores = [100 * study.score("toy-step", name, "jump_f1").mean() for name in study.methods]
    assert drawn[0] == pytest.approx(scores[0])


def test_missing_metrics_are_left_out_and_named():
    stream = stores.toy_stream(2)
    run = stores.toy_run(stream, "vbs-k2", 2, size=2)
    study = stores.study("toy", stream, ["log_predictive"], [run])
    assert len(toy_hypotheses.draw(study).get_axes()) == 3
    assert "jump_f1, exact_map_agreement" in toy_hypotheses.caption(study)


def test_a_study_without_a_beam_is_refused():
    with pytest.raises(UserError, match="toy-hypotheses needs"):
        toy_hypotheses.draw(stores.image_study())
