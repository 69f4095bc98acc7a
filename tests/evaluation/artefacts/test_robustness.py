"""The figure of robustness shows every configuration, and failed runs count."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import robustness
from tests.evaluation.artefacts import changed
from tests.evaluation.scoring import stores

POINTS = [
    {"mfvi.start_sd": 0.1 * (seed % 3), "mfvi.optimiser": ["adam", "sgd"][seed % 2]}
    | ({"map.start_sd": 0.1 * (seed % 3)} if seed % 2 else {"mfvi.decay": 0.98})
    for seed in range(8)
]


def study(failed=(2,)):
    """Return a study of eight configurations; `failed` are those of mfvi."""
    stream = stores.toy_stream(8)
    rng = np.random.default_rng(0)
    runs = []
    for name in ("radial", "mfvi"):
        score = np.repeat(rng.random((1, 8, 1)), stream.sizes["task"], axis=2)
        if name == "mfvi":
            score[:, list(failed)] = np.nan
        status = ["failed: so it is" if np.isnan(one) else "ok" for one in score[0, :, 0]]
        runs.append(
            stores.run_store(score, ["squared_error"], stream, name, [["x", {}]], status=status)
        )
    made = stores.study("toy-step", stream, ["squared_error"], runs)
    return dataclasses.replace(made, configurations=POINTS)


def test_shares_count_failed_runs_as_worse_than_all_others():
    scores = np.array([0.2, np.nan, 0.9, 0.5])
    best, share = robustness.shares(scores, higher_is_better=True)
    assert best.tolist() == [0.9, 0.5, 0.2] and share.tolist() == [0.25, 0.5, 0.75]
    assert robustness.shares(scores, higher_is_better=False)[0].tolist() == [0.2, 0.5, 0.9]


def test_a_setting_of_several_components_is_one_panel():
    names = robustness.settings(POINTS)
    assert names == ["mfvi.start_sd", "mfvi.optimiser", "mfvi.decay"]


def test_every_configuration_is_a_point_under_its_value():
    drawn = robustness.draw(study())
    panels = [axes for axes in drawn.axes if axes.axison]
    titles = [axes.get_title(loc="left").split("  ")[1] for axes in panels[1:]]
    assert titles == ["start sd", "optimiser", "decay"]
    points = [line for line in panels[2].lines if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in points) == 8 + 7
    assert [label.get_text() for label in panels[2].get_xticklabels()] == ["adam", "sgd"]


def halves(of_study):
    """Return the error that four of the eight configurations keep to; NaN where fewer have one."""
    scores = {
        name: np.sort(of_study.score("toy-step", name, "squared_error"))
        for name in of_study.methods
    }
    return {name: values[3] for name, values in scores.items()}


def test_the_title_says_what_half_of_the_configurations_reach_best_first():
    results = study()
    found = halves(results)
    best, last = sorted(found, key=found.get)
    said = (
        "toy-step, squared error: half of all configurations reach"
        f" {found[best]:.3g} with {best} and {found[last]:.3g} with {last}"
    )
    (block,) = robustness.draw(results).subfigs
    assert block.get_suptitle() == robustness.message(results, "toy-step") == said
    assert robustness.caption(results).startswith(f"{said}. Each configuration")
    bounded = dataclasses.replace(results, bounds=[best])
    assert robustness.message(bounded, "toy-step").endswith(f"reach {found[last]:.3g} with {last}")


def test_a_method_that_mostly_fails_is_named_last():
    results = study(failed=range(5))
    said = robustness.message(results, "toy-step")
    reached = f"{halves(results)['radial']:.3g} with radial"
    assert said.endswith(f"reach {reached}; fewer than half have a score with mfvi")
    alone = dataclasses.replace(results, bounds=["radial"])
    said = "toy-step, squared error: no method has a score with half of all configurations"
    assert robustness.message(alone, "toy-step") == said


def test_each_stream_has_a_title_and_one_legend_is_for_all():
    several = changed.of_streams(study(), {"one": {}, "two": {("radial", "squared_error"): 0.1}})
    drawn = robustness.draw(several)
    messages = [robustness.message(several, stream) for stream in ("one", "two")]
    assert [block.get_suptitle() for block in drawn.subfigs] == messages
    assert messages[0].endswith("with mfvi") != messages[1].endswith("with mfvi")
    assert robustness.caption(several).startswith(". ".join(messages))
    assert [len(block.subfigs[0].legends) for block in drawn.subfigs] == [1, 0]


def test_fractions_are_percent_and_no_panel_is_alone_in_its_row():
    results = study()
    cube = results.cube.assign_coords(metric=["accuracy"])
    points = [{f"mfvi.s{number}": at % 2 for number in range(6)} for at in range(8)]
    shares = dataclasses.replace(
        results, scores={**results.scores, "scores": cube}, configurations=points
    )
    first, second, *_ = robustness.draw(shares).get_axes()
    assert (first.get_xlabel(), second.get_ylabel()) == ("accuracy (%)", "accuracy (%)")
    assert first.get_lines()[0].get_xdata().max() > 1
    assert " % with " in robustness.message(shares, "toy-step")
    assert second.get_gridspec().ncols == 4


def test_tick_labels_have_two_digits_of_fractions():
    texts = [robustness._text(value) for value in (0.002476, 0.6931, 0.98, 1e-05, 256, 1.0, "sgd")]
    assert texts == ["0.0025", "0.69", "0.98", "1e-05", "256", "1", "sgd"]


def test_without_configurations_there_is_a_clear_error():
    with pytest.raises(UserError, match="robustness needs configurations"):
        robustness.draw(dataclasses.replace(study(), configurations=()))
