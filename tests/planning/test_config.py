"""A wrong config is told all its errors at once; a right one has all defaults filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.errors import UserError
from shiftbench.planning import config
from shiftbench.planning.config import ConfigError

GOOD = """\
definitions:
  noise: &noise {noise_sd: 5e-1}
streams:
  steps:
    family: toy-step
    points: 12
studies:
  toy:
    title: Two steps
    streams: [steps]
    seeds: 5
    seeds_per_job: 2
    metrics: [jump_f1]
    learners:
      plain: [gaussian-mean]
      beam:
        - beam: {size: 2}
        - gaussian-mean: {<<: *noise}
"""


def load(folder: Path, text: str) -> config.Config:
    path = folder / "some.yaml"
    path.write_text(text)
    return config.load(path)


def errors(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def test_defaults_are_filled_in(tmp_path) -> None:
    loaded = load(tmp_path, GOOD)
    assert loaded.streams["steps"].settings["points"] == 12
    assert loaded.streams["steps"].settings["n_steps"] == 2
    study = loaded.studies["toy"]
    (beam, beam_settings), (learner, learner_settings) = study.learners["beam"]
    assert (beam, learner) == ("beam", "gaussian-mean")
    assert beam_settings["size"] == 2
    assert beam_settings["weights"] == "paper"
    assert learner_settings["noise_sd"] == 0.5, "5e-1 is a number"
    assert study.learners["plain"][0][0] == "gaussian-mean"


def test_blocks_of_seeds(tmp_path) -> None:
    assert load(tmp_path, GOOD).blocks("toy") == [(0, 1), (2, 3), (4, 4)]


@pytest.mark.parametrize("path", sorted(Path("config").glob("*.yaml")), ids=str)
def test_configs_of_the_repository_are_right(path: Path) -> None:
    assert config.load(path).studies


def test_all_errors_at_once(tmp_path) -> None:
    text = """\
seeds_per_job: 0
streams:
  steps:
    family: toy-stp
  digits: {family: transformed-images, dataset: digits, tasks: 0}
studies:
  all:
    title: Two
    title: Steps
    streams: [step]
    seeds: many
    sees: 3
    metrics: [jump_f2]
    artefacts: [score-tabel]
    learners:
      Plain: [beam]
      b:
        - beam: {size: -2, siez: 1}
        - mfvi
      c: [gaussian-mean, gausian-mean]
"""
    assert errors(tmp_path, text) == [
        "line 1, seeds_per_job: should be greater than or equal to 1 (it is 0)",
        'line 4, streams.steps.family: unknown family "toy-stp"; did you mean "toy-step"?',
        "line 5, streams.digits.tasks: should be greater than or equal to 1 (it is 0); "
        "the type is Annotated[int, Ge(1)]",
        'line 7, studies.all: the name "all" stands for all studies; choose another',
        "line 9, studies.all.title: this key stands here twice",
        'line 10, studies.all.streams[0]: unknown stream "step"; did you mean "steps"?',
        'line 11, studies.all.seeds: should be a valid integer (it is "many")',
        'line 12, studies.all.sees: unknown key "sees"; did you mean "seeds"?',
        'line 13, studies.all.metrics[0]: unknown metric "jump_f2"; did you mean "jump_f1"?',
        'line 14, studies.all.artefacts[0]: unknown artefact "score-tabel"; '
        'did you mean "score-table"?',
        'line 16, studies.all.learners.Plain: the name "Plain" may have small letters, '
        "digits and hyphens only",
        'line 16, studies.all.learners.Plain[0].beam: "beam" is a combinator; '
        "the last item must be a learner",
        'line 18, studies.all.learners.b[0].beam.siez: unknown setting of beam "siez"; '
        'did you mean "size"?',
        "line 18, studies.all.learners.b[0].beam.size: should be greater than or equal to 1 "
        "(it is -2); the type is Annotated[int, Ge(1)]",
        'line 19, studies.all.learners.b[1].mfvi: "mfvi" fits a model; give the study a `model`',
        'line 20, studies.all.learners.c[0].gaussian-mean: "gaussian-mean" is a learner; '
        "only the last item may be one",
        'line 20, studies.all.learners.c[1].gausian-mean: unknown learner "gausian-mean"; '
        'did you mean "gaussian-mean"?',
    ]


def test_missing_key(tmp_path) -> None:
    assert errors(tmp_path, GOOD.replace("    seeds: 5\n", "")) == [
        "line 8, studies.toy.seeds: this key is missing"
    ]


def test_component_in_a_wrong_form(tmp_path) -> None:
    found = errors(tmp_path, GOOD.replace("plain: [gaussian-mean]", "plain: [3]"))
    assert found == [
        "line 15, studies.toy.learners.plain[0]: write a name, or one name with its settings, "
        "as {name: {key: value}}"
    ]


@pytest.mark.parametrize("text", ["", "[]", "7", "streams: 3\nstudies: []"])
def test_no_config_at_all(tmp_path, text: str) -> None:
    assert errors(tmp_path, text)


def test_learner_that_needs_what_is_not_revealed(tmp_path, monkeypatch) -> None:
    from shiftbench.planning import components

    constant = components.constant

    def needy(kind: str, name: str, key: str, default: object = None) -> object:
        found = ("boundaries",) if key == "NEEDS" and name == "gaussian-mean" else None
        return found or constant(kind, name, key, default)

    monkeypatch.setattr(components, "constant", needy)
    assert errors(tmp_path, GOOD)[0] == (
        'line 15, studies.toy.learners.plain[0].gaussian-mean: "gaussian-mean" needs to be told '
        '"boundaries"; add it to the study\'s `reveals`'
    )
    assert load(
        tmp_path, GOOD.replace("    seeds: 5\n", "    seeds: 5\n    reveals: [boundaries]\n")
    )


@pytest.mark.parametrize(
    ("text", "words"), [(None, "cannot be read"), ("a: [1", "not valid YAML"), ("\t", "not valid")]
)
def test_unreadable_file(tmp_path, text: str | None, words: str) -> None:
    path = tmp_path / "some.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=words):
        config.load(path)
