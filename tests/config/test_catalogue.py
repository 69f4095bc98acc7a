"""Every method of the five papers has a row that shows where its settings come from."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import yaml

import shiftbench as sb
from shiftbench.cli import main, parser
from shiftbench.config import (
    bibliography,
    catalogue,
    components,
    config_file,
    method_costs,
    method_needs,
)
from shiftbench.config.composition import Composition
from shiftbench.config.library import Library
from shiftbench.config.method_costs import Costs, Step
from shiftbench.config.schema import Config
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import paper_numbers

LIBRARY = Library(Path("config"))
PUBLISHED = Path("results/published")
PAPERS = ("li2021vbs", "eschenhagen2019vogn", "cherief2019online", "farquhar2020radial")

OWN = """\
vcl:
  label: Mine
  cite: [nguyen2018vcl]
  summary: Another length.
  pipeline: [mfvi: {epochs: 20}]
unknown:
  label: Unknown
  cite: [Nobody]
  summary: No such learner.
  pipeline: [no-such]
"""


@cache
def composed(name: str) -> Composition:
    """Return one of the package's configs, composed."""
    return config_file.composed(f"config/{name}.yaml")


@cache
def planned(name: str) -> Config:
    """Return one of the package's configs with all defaults filled in."""
    return config_file.planned(composed(name))


def test_a_row_has_papers_in_words_a_summary_and_what_is_lacking():
    rows = catalogue.methods(LIBRARY)
    assert rows["ewc"].startswith("Kirkpatrick et al. (2017): Elastic weight consolidation")
    assert rows["ewc"].endswith(".")
    assert rows["vmg"].endswith("(quoted, not run: farquhar2020radial, Table 2)")


def test_only_methods_whose_numbers_a_paper_prints_are_quoted():
    quoted = {
        name: text for name, one in LIBRARY.methods.items() if (text := one.data.get("quoted"))
    }
    assert set(quoted) == {"dvi", "fbnn", "pbp-mv", "vmg"}
    for name, text in quoted.items():
        work, table = text.split(", ")
        printed = [one for one in paper_numbers.tables() if (one.paper, one.table) == (work, table)]
        assert name in {row.method for one in printed for row in one.rows if row.quoted}, name
        assert f"quoted, not run: {text}" in catalogue.method(LIBRARY, name)


def test_a_method_without_a_pipeline_is_quoted_or_a_row_of_an_artefact():
    rows = catalogue.methods(LIBRARY)
    without = {name for name, one in LIBRARY.methods.items() if "pipeline" not in one.data}
    shown = {name for name in without if components.artefacts_with_row(name)}
    assert shown == {"best-fixed", "binning-words"}
    lacking = [LIBRARY.methods[name].data for name in without - shown]
    assert all(one.get("quoted") for one in lacking)
    assert not any("yet" in rows[name] for name in shown)
    text = catalogue.method(LIBRARY, "best-fixed")
    assert "a row of average-cumulative-loss, regret-table, computed from all" in text


def test_a_row_says_whether_a_study_has_the_method(monkeypatch):
    library = Library(Path("config"))
    assert not catalogue.methods(library)["ewc"].endswith("(no study yet)")
    monkeypatch.setattr(library, "studies", list)
    assert catalogue.methods(library)["ewc"].endswith("(no study yet)")


def test_a_row_has_the_year_the_needs_and_the_cost(monkeypatch):
    step, reasons = Step(1910.0, 970.0, 1.97), {"joint": "has more rows with each task"}
    measured = Costs("", {"er": step}, {"vbs-wolf": 12.34}, reasons)
    monkeypatch.setattr(method_costs, "measured", lambda: measured)
    rows = {name: text.splitlines() for name, text in catalogue.methods(LIBRARY).items()}
    memory = "a memory of 200 rows of each task; 20 passes over each task"
    assert rows["er"][1] == f"Work of 2019; needs {memory}; 256 rows cost 2.0 times a step of Adam."
    rate = "a guess of how often the distribution changes"
    cost = "a row takes 12 microseconds"
    assert rows["vbs-wolf"][1] == f"Works of 2021 to 2024; needs {rate}; {cost}."
    assert rows["wolf"][1] == "Work of 2024; needs each row once, and nothing else."
    assert rows["joint"][1].endswith("; cost not measured: has more rows with each task.")
    assert "\n  work of 2019\n" in (shown := catalogue.method(LIBRARY, "er"))
    assert shown.count("256 rows cost 2.0 times a step of Adam\n") == 1


def test_lines_of_methods_are_no_wider_than_a_hundred(capsys):
    assert main.main(["list", "methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == sorted(LIBRARY.methods)


def test_a_method_of_a_user_is_listed_whatever_it_lacks(tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text("studies: {}\n")
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "own.yaml").write_text(OWN)
    assert main.main(["list", "methods", "--config", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = {line.split()[0]: " ".join(lines[i : i + 2]) for i, line in enumerate(lines)}
    assert "Work of 2018; needs 20 passes" in said["vcl"] and "Adam" not in said["vcl"]
    assert said["unknown"].split()[1:5] == ["Nobody:", "No", "such", "learner."]
    assert "From" not in said["unknown"].partition("vadam")[0]


@pytest.mark.parametrize(
    ("value", "text"), [(0.987, "0.99"), (1, "1.0"), (9.96, "10"), (12.4, "12"), (426, "430")]
)
def test_a_cost_has_two_digits(value, text):
    assert method_costs.digits(value) == text


@pytest.mark.parametrize("paper", [*PAPERS, "knoblauch2018robust"])
def test_every_paper_has_methods(paper):
    cited = [method.data["cite"] for method in LIBRARY.methods.values()]
    assert sum(paper in keys for keys in cited) >= 4
    assert {key for keys in cited for key in keys} <= set(bibliography.works())


def test_labels_tell_methods_of_one_study_apart():
    for path in ("embedded", "cpu", "paper"):
        for name, study in planned(path).studies.items():
            labels = [study.label(method) for method in study.methods]
            assert len(set(labels)) == len(labels), (name, labels)


def test_a_method_with_every_setting_and_its_origin():
    text = catalogue.method(LIBRARY, "ewc")
    assert text.startswith("ewc: EWC\n  Elastic weight")
    assert text.count("Strength 100 as in the public") == 1
    assert "strength: 100.0                  penalties.yaml. Factor of the penalty" in text
    assert "decay: 1.0                       default. Factor of the previous precision" in text
    with pytest.raises(UserError, match='unknown method "ewk"; did you mean "ewc"'):
        catalogue.method(LIBRARY, "ewk")


def test_a_method_as_a_study_has_it():
    made = composed("embedded")
    text = catalogue.study_method(made, "permuted-digits", "si")
    assert "in the study permuted-digits" in text
    (line,) = [line for line in text.splitlines() if "strength:" in line]
    written = Path("config/studies/permuted-images.yaml").read_text().splitlines()
    number, meaning = re.search(r"permuted-images\.yaml, line (\d+)\. (.+)", line).groups()
    assert "map.strength: 0.5" in written[int(number) - 1]
    assert meaning == components.fields("learners", "map")["strength"][2]
    short = catalogue.study_method(made, "permuted-digits", "si", meanings=False).splitlines()
    assert "  strength: 0.5  " in next(one for one in short if "strength: 0.5" in one)
    settings = [one for one in text.splitlines() if re.match(r"  +\w+: ", one)]
    given = {one.split(":")[0].strip() for one in settings if "  default. " not in one}
    assert {one.split(":")[0].strip() for one in short if re.match(r"  \w+: ", one)} == given
    assert 5 < len(given) < len(settings)
    assert max(map(len, short)) <= 100
    renamed = catalogue.study_method(made, "nile", "robust-strong")
    assert renamed.startswith("robust-strong: Robust BOCPD, strong\n  BOCPD with beta")
    alone = catalogue.study_method(composed("cpu"), "annotated-series-oracle", "bocpd-oracle")
    assert alone.startswith("bocpd-oracle\nin the study annotated-series-oracle\n")


def test_a_study_with_what_it_compares_costs_and_needs():
    made, plan = composed("embedded"), planned("embedded")
    text = catalogue.study(made, plan, "split-digits", PUBLISHED)
    assert text.startswith(
        "split-digits: Continual learning on digits, two classes a task, with task identity\n"
        "  How much does"
    )
    assert "streams   split-digits (split-images)\n" in text
    assert "budget    embedded (in split-images.yaml)\n" in text
    assert re.search(r"methods   finetune, ewc, .*,\n {12}\S.*, joint, hat\n", text)
    assert re.search(r"cost      [\d.]+ core-hours, as published\n", text)
    run = "shiftbench run config/embedded.yaml -- split-digits"
    assert f"run it    {run}\n" in text
    assert "reduced   Digits of 8x8 pixels" in text and "tuning    none" in text
    elsewhere = catalogue.study(made, plan, "nile", Path("nowhere"))
    assert "cost      not published" in elsewhere


def test_a_tuned_study_tells_its_trials():
    text = catalogue.study(composed("cpu"), planned("cpu"), "split-digits", PUBLISHED)
    assert "tuning    12 trials of each method, by acc, with 2 seeds each\n" in text
    assert re.search(r"cost      [\d.]+ core-hours, [\d.]+ core-hours of trials, as publ", text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("VOGN", "vogn: VOGN\n"),
        ("Beta-Closeness", "\n\nbeta-closeness: How near"),
        ("vcl-raial", 'unknown method or study "vcl-raial"; did you mean "vcl-radial"?\n'),
        ("zzz", 'unknown method or study "zzz"; the nearest of '),
        ("Robust BOCPD", "robust-bocpd: Robust BOCPD\n"),
        ("vbs, k = 6", "vbs-linear: VBS, K = 6\n"),
        ("well-log", 'has no study "well-log"; add --config config/cpu.yaml\n'),
    ],
)
def test_show_takes_methods_and_studies_of_any_case(name, words, capsys):
    status = main.main(["show", name])
    told = capsys.readouterr()
    assert words in (told.err if status else told.out)
    assert not status or len(told.err.splitlines()) == 1


def test_a_method_that_a_config_has_itself_is_shown_and_listed(tmp_path, capsys):
    config = tmp_path / "mine.yaml"
    config.write_text(
        "methods:\n  own: {label: Own, cite: [x], summary: The mean., pipeline: [gaussian-mean]}\n"
        "studies: {mine: {from: toy-step, methods: {own: {}}}}\n"
    )
    assert main.main(["show", "own", "--config", str(config)]) == 0
    assert capsys.readouterr().out.startswith("own: Own\n  The mean.\n")
    assert main.main(["list", "methods", "--config", str(config)]) == 0
    assert re.search(r"^own +x: The mean\.$", capsys.readouterr().out, re.MULTILINE)


def test_the_label_of_a_method_is_answered_with_its_name(tmp_path, capsys):
    remedy = '"Robust BOCPD" is the label of the method "robust-bocpd"; write that name'
    assert main.main(["show", "Robust BOCPD", "--study", "nile"]) == 2
    assert 'is the label of the method "robust"; write that name' in capsys.readouterr().err
    with pytest.raises(ValueError, match=remedy):
        sb.method("Robust BOCPD")
    config = tmp_path / "mine.yaml"
    study = {"title": "Mine", "streams": {"one": {"family": "toy-step"}}, "seeds": 1}
    study |= {"methods": ["Robust BOCPD"], "metrics": ["log_predictive"], "artefacts": []}
    config.write_text(yaml.safe_dump({"studies": {"mine": study}}))
    assert main.main(["check", str(config)]) == 2
    assert remedy in capsys.readouterr().err


@pytest.mark.parametrize(
    ("method", "needs"),
    [
        ("er", ["a memory of 200 rows of each task", "20 passes over each task"]),
        (
            "er-reservoir",
            [
                "a memory of 200 rows times the number of tasks, in a reservoir",
                "20 passes over each task",
            ],
        ),
        ("finetune", ["20 passes over each task"]),
        ("hat", ["to know which task each row is of", "200 passes over each task"]),
        ("joint", ["a memory of all rows", "20 passes over each task"]),
        ("vbs-linear", ["a guess of how often the distribution changes"]),
        ("forgetting-linear", ["a guess of how fast the past loses its value"]),
        ("linear-regression", []),
    ],
)
def test_a_method_says_what_it_needs_beside_the_rows_of_a_task(method, needs):
    assert method_needs.of(LIBRARY.methods[method].data["pipeline"]) == needs
    shown = catalogue.method(LIBRARY, method)
    assert f"  needs {'; '.join(needs) or method_needs.NOTHING}\n" in shown


def test_the_command_of_a_study_takes_a_config_with_spaces_in_its_path() -> None:
    place = Path("my studies/mine.yaml")
    assert catalogue.command("phd", place) == "shiftbench run 'my studies/mine.yaml' -- phd"
    words = shlex.split(catalogue.command("phd", place))[1:]
    options = parser.parsed(words)
    assert (options.config, options.snakemake) == (place, ["phd"])
