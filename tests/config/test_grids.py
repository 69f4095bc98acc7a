"""Axes expand a stream to a grid of ordinary streams, and errors are reported once."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from shiftbench.config import config_file, grids, reference, specs
from shiftbench.config.config_file import ConfigError

STUDY = """\
streams:
  toy: {family: toy-step, points: 12}
studies:
  map:
    title: A map
    streams: [toy]
    axes: {n_steps: [0, 2], noise: {noise_sd: [0.25, 1.0], step_size: [0.5, 2.0]}}
    seeds: 1
    metrics: [log_predictive]
    artefacts: [score-table]
    methods:
      mean: [gaussian-mean]
"""
NAMES = ["toy-0-0p25", "toy-0-1", "toy-2-0p25", "toy-2-1"]


@pytest.fixture
def load(tmp_path):
    def loaded(text: str) -> config_file.Config:
        (tmp_path / "some.yaml").write_text(text)
        return config_file.load(tmp_path / "some.yaml")

    return loaded


def errors(load, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text)
    return str(caught.value).splitlines()[1:]


def test_cells_are_ordinary_streams_with_what_the_stream_says(load):
    plan = load(STUDY)
    study = plan.studies["map"]
    assert study.streams == NAMES
    asked = [
        {key: plan.streams[name].settings[key] for key in ("points", "n_steps", "noise_sd")}
        for name in NAMES
    ]
    expected = [
        {"points": 12, "n_steps": steps, "noise_sd": noise}
        for steps, noise in itertools.product((0, 2), (0.25, 1.0))
    ]
    assert asked == expected
    assert [plan.streams[name].settings["step_size"] for name in NAMES] == [0.5, 2.0, 0.5, 2.0]


def test_a_cell_has_the_spec_of_the_same_stream_written_out(load):
    written = STUDY.replace("axes: {n_steps: [0, 2], noise: {noise_sd: [0.25, 1.0], ", "#")
    written = written.replace("[toy]", "[toy-2-1]")
    written = written.replace(
        "  toy: {family: toy-step, points: 12}",
        "  toy-2-1:\n    {family: toy-step, points: 12, n_steps: 2, noise_sd: 1.0, step_size: 2.0}",
    )
    plans = load(STUDY), load(written)
    assert specs.stream(plans[0], "toy-2-1") == specs.stream(plans[1], "toy-2-1")
    of_run = [specs.run(plan, "map", "toy-2-1", "mean", (0, 0)) for plan in plans]
    assert of_run[0] == of_run[1]


def test_artefacts_know_the_cells_and_their_values(load):
    plan = load(STUDY)
    known = specs.artefact(plan, "map", "score-table")["cells"]
    assert list(known) == NAMES
    assert known["toy-2-0p25"] == {"n_steps": 2, "noise": 0.25}
    assert json.loads(json.dumps(known)) == known
    alone = load(STUDY.replace("    axes:", "    #"))
    assert "cells" not in specs.artefact(alone, "map", "score-table")


def test_a_stream_of_the_study_itself_and_axes_that_a_change_takes_away(load, tmp_path):
    (tmp_path / "studies").mkdir()
    body = STUDY[STUDY.index("    title") :].replace("\n    ", "\n").strip()
    body = body.replace("streams: [toy]", "streams: {toy: {family: toy-step, points: 12}}")
    body += "\nbudgets:\n  few: {axes: {n_steps: [1]}}\n  all: {}\n"
    (tmp_path / "studies" / "map.yaml").write_text(body)
    assert load("budget: all\nstudies: [map]\n").studies["map"].streams == NAMES
    assert load("budget: few\nstudies: [map]\n").studies["map"].streams == ["toy-1"]
    none = load("budget: all\nstudies:\n  one: {from: map, axes: {}}\n").studies["one"]
    assert none.streams == ["toy"] and none.cells == {}


def test_a_study_with_axes_judges_no_claims(load):
    text = Path("config/studies/transformed-images.yaml").read_text()
    assert "vgs" in text, "the methods of claims"
    plain = """\
studies:
  images:
    from: transformed-images
    budget: cpu
"""
    judged = load(plain).studies["images"].artefacts
    with_axes = load(plain + "    axes: {strength: [0.5, 1.0]}\n").studies["images"].artefacts
    assert "claims" in judged and "claims" not in with_axes


def test_the_reference_tells_the_example_as_it_is(load):
    example = reference.AXES.split("```yaml\n")[1].split("```")[0]
    lines = "".join(f"    {line}\n" for line in example.splitlines())
    text = f"""\
studies:
  map:
{lines}    title: A map
    model: mlp
    seeds: 1
    metrics: [accuracy]
    methods: [vcl-bnn]
"""
    plan = load(text)
    assert plan.studies["map"].streams[0] in reference.AXES
    assert plan.streams["digits-100-1"].settings["warm_up_size"] == 200


@pytest.mark.parametrize(
    ("value", "text"),
    [(25, "25"), (0.5, "0p5"), (1.0, "1"), (-3, "m3"), (1e-5, "1em05"), (1e20, "1e20"),
     (True, "true"), ("own_Lag", "own-lag"), ([1, 10.5], "1-10-5")],
)  # fmt: skip
def test_values_in_names(value, text):
    assert grids.word(value) == text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("n_steps: [0, 2]", "n_step: [0, 2]",
         'line 7, studies.map.axes.n_step: unknown setting of toy-step "n_step"; did you mean'),
        ("n_steps: [0, 2]", "n_steps: []",
         'line 7, studies.map.axes.n_steps: the axis "n_steps" has no values; write some'),
        ("n_steps: [0, 2]", "n_steps: 2", "line 7, studies.map.axes.n_steps: an axis is a list"),
        ("n_steps: [0, 2]", "n_steps: {}", "line 7, studies.map.axes.n_steps: an axis is a list"),
        ("noise_sd: [0.25, 1.0]", "noise_sd: [0.25, x]",
         "line 7, studies.map.axes.noise.noise_sd[1]: should be a number"),
        ("step_size: [0.5, 2.0]", "step_size: [0.5]",
         "as many values each, but noise_sd has 2, step_size has 1"),
        ("step_size:", "n_steps:", '"n_steps" is on two axes; take it out of one'),
        ("step_size:", "points:", 'the stream sets "points" too; take it out there'),
        ("n_steps: [0, 2]", "n_steps: [2, 2]", '2 values that names of streams call "2"'),
        ("n_steps: [0, 2]", f"n_steps: {list(range(600))}", "a grid of 1,200 streams, but at most"),
        ("[toy]", "[toy, toy]", "a study with axes has one stream, which becomes a grid; name one"),
        ("n_steps: [0, 2]", "n_steps: [0, -2]",
         "line 7, studies.map.axes.n_steps[1]: should be a whole number of at least 0 (it is -2)"),
        ("streams:\n", "streams:\n  toy-2-1: {family: toy-step}\n",
         'there is another stream "toy-2-1" in this config; rename one of them'),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_place_and_remedy(load, old, new, words):
    found = errors(load, STUDY.replace(old, new))
    assert any(words in line for line in found), found


def test_what_all_cells_have_wrong_is_told_once(load):
    found = errors(load, STUDY.replace("seeds: 1", "seeds: 200"))
    assert len(found) == 1 and "200 repetitions on stream" in found[0]
    assert NAMES[0] in found[0]


def test_artefacts_of_a_grid_are_refused_without_axes(load):
    changed = STUDY.replace("[score-table]", "[regime-detection, regime-map]")
    changed = changed.replace("    axes:", "    baseline: mean #")
    found = errors(load, changed)
    words = '"regime-map" shows a grid of streams; give the study `axes`, or take it out'
    assert any("studies.map.artefacts[1]" in line and words in line for line in found), found
    shows = [line for line in found if "regime-detection" in line]
    assert any("shows shift_recall and shift_precision" in line for line in shows)
