"""An invalid config gets all errors at once; a valid one has all defaults filled in."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from shiftbench.config import config_file, older_yaml, yaml_lines
from shiftbench.config.config_file import ConfigError
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts

FILES_OF_OURS = [one for top in ("config", "examples") for one in Path(top).rglob("*.yaml")]
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
    methods:
      plain: [gaussian-mean]
      beam:
        - beam: {size: 2}
        - gaussian-mean: {<<: *noise}
"""


def load(folder: Path, text: str) -> config_file.Config:
    path = folder / "some.yaml"
    path.write_text(text)
    return config_file.load(path)


def errors(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def test_defaults_are_filled_in(tmp_path) -> None:
    loaded = load(tmp_path, GOOD)
    assert loaded.streams["steps"].settings["points"] == 12
    assert loaded.streams["steps"].settings["n_steps"] == 2
    study = loaded.studies["toy"]
    (beam, beam_settings), (learner, learner_settings) = study.pipelines["beam"]
    assert (beam, learner) == ("beam", "gaussian-mean")
    assert beam_settings["size"] == 2
    assert beam_settings["weights"] == "paper"
    assert learner_settings["noise_sd"] == 0.5, "5e-1 is a number"
    assert study.pipelines["plain"][0][0] == "gaussian-mean"


def test_blocks_of_seeds(tmp_path) -> None:
    assert load(tmp_path, GOOD).blocks("toy") == [(0, 1), (2, 3), (4, 4)]


@pytest.mark.parametrize("path", sorted(Path("config").glob("*.yaml")), ids=str)
def test_configs_of_the_repository_are_right(path: Path) -> None:
    assert config_file.load(path).studies


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
    methods:
      Plain: [beam]
      b:
        - beam: {size: -2, siez: 1}
        - mfvi
      c: [gaussian-mean, gausian-mean]
"""
    assert errors(tmp_path, text) == [
        "line 1, seeds_per_job: should be at least 1 (it is 0)",
        'line 4, streams.steps.family: unknown family "toy-stp"; did you mean "toy-step"?',
        "line 5, streams.digits.tasks: should be a whole number of at least 1 (it is 0)",
        'line 7, studies.all: the name "all" stands for all studies; choose another',
        "line 9, studies.all.title: this key occurs twice",
        'line 10, studies.all.streams[0]: unknown stream "step"; did you mean "steps"?',
        'line 11, studies.all.seeds: should be a whole number, such as 3 (it is "many")',
        'line 12, studies.all.sees: unknown key "sees"; did you mean "seeds"?',
        'line 13, studies.all.metrics[0]: unknown metric "jump_f2"; did you mean "jump_f1"?',
        'line 14, studies.all.artefacts[0]: unknown artefact "score-tabel"; '
        'did you mean "score-table"?',
        'line 16, studies.all.methods.Plain: the name "Plain" may have small letters, '
        "digits and hyphens only",
        'line 16, studies.all.methods.Plain[0].beam: "beam" is a combinator; '
        "the last item must be a learner",
        'line 18, studies.all.methods.b[0].beam.siez: unknown setting of beam "siez"; '
        'did you mean "size"?',
        "line 18, studies.all.methods.b[0].beam.size: should be a whole number of at least "
        "1 (it is -2)",
        'line 19, studies.all.methods.b[1].mfvi: "mfvi" fits a model; give the study a `model`',
        'line 20, studies.all.methods.c[0].gaussian-mean: "gaussian-mean" is a learner; '
        "only the last item may be one",
        'line 20, studies.all.methods.c[1].gausian-mean: unknown learner "gausian-mean"; '
        'did you mean "gaussian-mean"?',
    ]


def test_missing_key(tmp_path) -> None:
    assert errors(tmp_path, GOOD.replace("    seeds: 5\n", "")) == [
        "line 8, studies.toy.seeds: this key is missing"
    ]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("Mine", 'studies.Mine: the name "Mine" may have small letters, digits and hyphens only'),
        ("all", 'studies.all: the name "all" stands for all studies; choose another'),
    ],
)
def test_a_wrong_name_is_an_error_where_it_is_written(tmp_path, key, message) -> None:
    text = f"studies:\n  {key}: {{from: toy-step}}\n"
    assert errors(tmp_path, text) == [f"line 2, {message}"]


def test_a_key_that_trials_lack_is_missing_where_they_are_written(tmp_path) -> None:
    text = "studies:\n  mine:\n    from: toy-step\n    tuning: {metric: log_predictive}\n"
    found = errors(tmp_path, text)
    assert "line 4, studies.mine.tuning.trials: this key is missing" in found


@pytest.mark.parametrize("key", ["label", "summary"])
def test_a_text_that_pages_show_is_not_empty(tmp_path, key) -> None:
    method = {"label": "Mine", "summary": "Mine.", "cite": ["x"], "pipeline": ["gaussian-mean"]}
    text = f"methods:\n  mine: {method | {key: ''}}\n{GOOD}"
    assert errors(tmp_path, text) == [f"line 2, methods.mine.{key}: should not be empty"]


def test_a_search_of_a_method_that_no_study_tunes_is_checked(tmp_path) -> None:
    method = "{label: Mine, summary: Mine., cite: [x], pipeline: [gaussian-mean], search: "
    text = f"methods:\n  mine: {method}{{gaussian-mean.noisesd: [1]}}}}\n{GOOD}"
    assert errors(tmp_path, text) == [
        "line 2, methods.mine.search.gaussian-mean.noisesd: "
        'unknown setting of gaussian-mean "noisesd"; did you mean "noise_sd"?'
    ]


def test_component_in_a_wrong_form(tmp_path) -> None:
    found = errors(tmp_path, GOOD.replace("plain: [gaussian-mean]", "plain: [3]"))
    assert found == [
        "line 15, studies.toy.methods.plain[0]: write a name, or one name with its settings, "
        "as {name: {key: value}}"
    ]


@pytest.mark.parametrize("text", ["", "[]", "7", "streams: 3\nstudies: []"])
def test_no_config_at_all(tmp_path, text: str) -> None:
    assert errors(tmp_path, text)


def test_learner_that_needs_what_is_not_revealed(tmp_path, monkeypatch) -> None:
    from shiftbench.config import components

    facts = components.facts

    def needy(kind: str, name: str) -> Facts:
        reveals = ("boundaries",) if name == "gaussian-mean" else ()
        return dataclasses.replace(facts(kind, name), reveals=reveals)

    monkeypatch.setattr(components, "facts", needy)
    alone = GOOD[: GOOD.index("      beam:")].replace("jump_f1", "log_predictive")
    assert errors(tmp_path, alone) == [
        'line 15, studies.toy.methods.plain[0].gaussian-mean: "gaussian-mean" needs to know '
        '"boundaries"; add it to the study\'s `reveals`'
    ]
    revealed = "    seeds: 5\n    reveals: [boundaries]\n"
    assert load(tmp_path, alone.replace("    seeds: 5\n", revealed))
    assert errors(tmp_path, GOOD.replace("    seeds: 5\n", revealed))[-1] == (
        'line 18, studies.toy.methods.beam[0]: "beam" does not pass on what the protocol reveals,'
        ' and "gaussian-mean" needs it; take "beam" out'
    )


LAUGHS = "definitions:\n  a: &a [ha]\n" + "".join(
    f"  {name}: &{name} [{', '.join(['*' + last] * 10)}]\n" for last, name in pairwise("abcdefghi")
)
MERGES = LAUGHS.replace("[ha]", "{ha: 1}").replace("[", "{<<: [").replace("]", "]}")
CHAIN = "definitions:\n  - &a0 []\n" + "".join(f"  - &a{i + 1} [*a{i}]\n" for i in range(3000))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "some.yaml: there is no such file"),
        ("a: [1", "some.yaml, line 2: not valid YAML: while parsing a flow sequence"),
        ("\t", "line 1: not valid YAML"),
        ("a:\n\tb: 1", "line 2: not valid YAML: .*indent with spaces, not with tabs"),
        ("a:\n  b: 1\n  seeds 7\n  c: 2", "line 3: .*write a colon and a space after the key"),
        ("a:\n  b: 1\n c: 2", "line 3: .*begin the line below the first letter of the key"),
        ("a: b: c", "line 1: .*quote a value with a colon"),
        ("a: \0", "not valid YAML"),
        ("a: 1\nb: 2001-13-45", "line 2: not valid YAML: month must be in 1..12"),
        ("a: 1\nb: " + "9" * 5000, "line 2: not valid YAML: Exceeds the limit"),
        ("definitions: &a [*a]", "line 1: \\*a is inside &a"),
        ("definitions:\n  - &a\n    b: {<<: *a}", "line 3: \\*a is inside &a"),
        ("[" * 3000, "line 1: more than 50 lists and mappings inside each other"),
        (CHAIN, "line 51: more than 50 lists and mappings inside each other"),
        (LAUGHS, "line 8: up to here, with aliases written out, more than 1,000,000 characters"),
        (MERGES, "line 8: up to here, with aliases written out, more than 1,000,000 characters"),
    ],
)
def test_unreadable_file(tmp_path, text: str | None, words: str) -> None:
    path = tmp_path / "some.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=words):
        config_file.load(path)


def test_folder_in_place_of_a_file(tmp_path) -> None:
    with pytest.raises(UserError, match="this is a folder"):
        config_file.load(tmp_path)


def test_aliases_of_ordinary_size_are_free(tmp_path) -> None:
    many = "".join(f"      beam-{i}: [beam: {{size: {i}}}, *plain]\n" for i in range(1, 300))
    text = GOOD.replace("plain: [gaussian-mean]", "plain: [&plain gaussian-mean: {<<: *noise}]")
    assert len(load(tmp_path, text + many).studies["toy"].pipelines) == 301


def test_keys_that_are_no_text(tmp_path) -> None:
    text = GOOD + "  2001-01-01: {}\n  ? [a, {b: 1}]\n  : {}\n"
    found = [error for error in errors(tmp_path, text) if "must be a text" in error]
    assert found == [
        "line 19, studies.2001-01-01: a key must be a text; put it in quotes",
        "line 20, studies.?: a key must be a text; put it in quotes",
    ]


ODD = [
    None, -1, 10**400, math.inf, "", "x" * 300, [], [["toy-step"]], [{}], {"a": [1]}, {1: 2}, {3},
    datetime.date(2001, 1, 1), b"\xff",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("value", ODD, ids=lambda value: str(value)[:12])
def test_odd_values_are_told_wherever_they_stand(tmp_path, value: object) -> None:
    places = [place for place in _places(yaml.safe_load(GOOD)) if place[:1] != ("definitions",)]
    assert len(places) > 20
    for place in places:
        data = yaml.safe_load(GOOD)
        owner = data
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = value
        # Some values are valid in some places, such as no artefacts; none may crash.
        with suppress(UserError):
            load(tmp_path, yaml.safe_dump(data))


def _places(value: object, place: tuple = ()) -> Iterator[tuple]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        yield (*place, key)
        if isinstance(part, dict | list):
            yield from _places(part, (*place, key))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("5e-1", ".inf", "line 2, studies.toy.methods.beam[1].gaussian-mean.noise_sd: "
         "should be a finite number (it is Infinity)"),
        ("{size: 2}", "{variance: .nan}", "line 17, studies.toy.methods.beam[0].beam.variance: "
         "should be a finite number (it is NaN)"),
        ("points: 12", "points: .inf", "line 6, streams.steps.points: should be a whole number"),
        ("seeds: 5", "seeds: 100000000000", "line 11, studies.toy.seeds: "
         "should be at most 100000 (it is 100000000000)"),
        ("seeds: 5\n    seeds_per_job: 2", "seeds: 100000\n    seeds_per_job: 1",
         "line 11, studies.toy.seeds: 200,000 runs, but at most 100,000 can be planned; raise "
         "seeds_per_job, or ask for fewer"),
        ("[steps]", "[[toy-step]]", "line 10, studies.toy.streams[0]: should be text"),
        ("  toy:", f"  {'t' * 300}:", f"line 8, studies.{'t' * 300}: "
         "this name has 300 characters; file names take at most 100"),
        ("  steps:", f"  {'s' * 101}:", f"line 4, streams.{'s' * 101}: "
         "this name has 101 characters; file names take at most 100"),
        ("plain:", "'nan':", "line 15, studies.toy.methods.nan: "
         'tables read the name "nan" as a missing value; take another name'),
        ("plain:", f"{'p' * 101}:", f"line 15, studies.toy.methods.{'p' * 101}: "
         "this name has 101 characters; file names take at most 100"),
    ],
)  # fmt: skip
def test_too_much_is_refused(tmp_path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    assert any(line.startswith(told) for line in errors(tmp_path, GOOD.replace(old, new)))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("010", "8"), ("1:30", "90"), ("1_000", "1000"), ("0b11", "3"), ("-0_1", "-1"), ("00", "0"),
     ("1_0.5", "10.5"), ("1:30.5", "90.5"), ("yes", "true"), ("No", "false"), ("ON", "true")],
)  # fmt: skip
@pytest.mark.parametrize("old", ["points: 12", "title: Two steps", "size: 2"])
def test_a_value_that_seems_another_is_one_error(
    tmp_path, old: str, written: str, meant: str
) -> None:
    key = old.partition(":")[0]
    told = errors(tmp_path, GOOD.replace(old, f"{key}: {written}"))
    (found,) = [one for one in told if f"{key}: " in one]
    assert found.endswith(
        f'{key}: {written} stands for {meant} in YAML; write {meant}, or "{written}" in quotes for'
        " text"
    )
    assert found.startswith("line ")


def test_a_text_in_quotes_is_what_it_seems(tmp_path) -> None:
    quoted = load(tmp_path, GOOD.replace("title: Two steps", 'title: "010"'))
    assert quoted.studies["toy"].title == "010"
    assert load(tmp_path, GOOD.replace("points: 12", "points: 0x10")).streams
    (found,) = errors(tmp_path, GOOD.replace("points: 12", "points: 0o17"))
    assert found.endswith('should be a whole number of at least 2 (it is "0o17")')


@pytest.mark.parametrize("file", [*FILES_OF_OURS], ids=str)
def test_no_value_of_ours_seems_another(file: Path) -> None:
    assert older_yaml.issues(yaml_lines.read(file).node) == ()


def test_an_empty_path_is_an_error(tmp_path) -> None:
    own = GOOD.replace(
        "streams:\n", 'streams:\n  own: {family: table-file, path: "", target: y}\n', 1
    )
    assert errors(tmp_path, own) == [
        "line 4, streams.own.path: it is empty; name a file or a folder"
    ]


@pytest.mark.parametrize("stem", ["my config (2)", "published", ".hidden", "straße", "a" * 101])
def test_stem_that_cannot_be_a_folder_of_results(tmp_path, stem: str) -> None:
    path = tmp_path / f"{stem}.yaml"
    path.write_text(GOOD)
    with pytest.raises(ConfigError, match=r"1 error .*\n.*results/.*rename"):
        config_file.load(path)


NEEDING = """\
methods:
  slow:
    label: Slow
    cite: [li2021vbs]
    summary: A method that takes long.
    threads: 4
    minutes: 600
    pipeline: [gaussian-mean]
"""


def test_a_method_needs_what_it_says_else_what_its_file_says_else_what_the_study_says(
    tmp_path,
) -> None:
    own = "      slow: {minutes: 90}\n      plain: [gaussian-mean]\n"
    text = GOOD.replace("      plain: [gaussian-mean]\n", own).replace(
        "    seeds: 5\n", "    seeds: 5\n    memory_mb: 800\n"
    )
    study = load(tmp_path, NEEDING + text).studies["toy"]
    assert study.resources("slow") == (4, 90, 800)
    assert study.resources("plain") == (1, 60, 800)
    assert study.resources("plain", "slow") == (4, 90, 800), "what jobs share needs the most"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("threads: 0", "should be at least 1"),
        ("minutes: soon", "should be a whole number, such as 3"),
        ("memory_mb: 8000000000", "should be at most 64000000"),
        ("cores: 4", 'unknown component "cores"'),
    ],
)
def test_nonsense_needs_of_a_method_are_refused(tmp_path, said, told) -> None:
    text = GOOD.replace("      plain: [gaussian-mean]\n", f"      slow: {{{said}}}\n")
    (found,) = errors(tmp_path, NEEDING + text)
    assert "slow" in found
    assert told in found


@pytest.mark.parametrize("escape", [r"\x1b", r"\x9b", r"\u2028", r"\u202e"])
def test_a_control_character_is_refused_with_its_line(tmp_path, escape) -> None:
    with pytest.raises(UserError, match=r"line 9: .* is a control character"):
        load(tmp_path, GOOD.replace("Two steps", f'"Two {escape}[31m steps"'))


def test_no_more_validation_images_than_images(tmp_path) -> None:
    with_images = "  digits: {family: permuted-images, dataset: digits, validation: %s}\nstudies:"
    load(tmp_path, GOOD.replace("studies:", with_images % 1199))
    assert errors(tmp_path, GOOD.replace("studies:", with_images % 100_000)) == [
        "line 7, streams.digits.validation: digits has 1,200 rows to set these apart from; lower it"
    ]
