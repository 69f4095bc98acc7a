"""A config consists of what it picks from files of studies and methods, with its changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
import yaml

from shiftbench.config import components, config_file
from shiftbench.config.config_file import Config, ConfigError
from shiftbench.config.library import OURS, Library
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Colour, Marker, Method
from shiftbench.evaluation import figure_style

METHODS = """\
definitions:
  size: &size 3
beam-mean:
  label: Beam
  cite: [li2021vbs]
  summary: A beam.
  pipeline: [beam: {size: *size}, gaussian-mean]
mean:
  label: Mean
  cite: [li2021vbs]
  summary: A mean.
  pipeline: [gaussian-mean: {noise_sd: 0.5}]
ensemble:
  label: Ensemble
  cite: [li2021vbs]
  summary: Several.
  quoted: farquhar2020radial, Table 2
"""
STUDY = """\
title: Steps
metrics: [log_predictive]
settings: {gaussian-mean.noise_sd: 1.0}
methods:
  - beam-mean
  - mean
  - narrow: {from: beam-mean, beam.size: 1, gaussian-mean.noise_sd: 2.0}
budgets:
  quick:
    seeds: 2
    streams:
      steps: {family: toy-step, points: 12}
  full:
    seeds: 5
    streams:
      steps: {family: toy-step}
    settings: {gaussian-mean.noise_sd: 3.0}
    methods:
      beam-mean: {beam.size: 6}
      own: [{gaussian-mean: {noise_sd: 7.0}}]
  few:
    seeds: 1
    streams:
      steps: {family: toy-step}
    methods: [mean, beam-mean: {beam.size: 2}]
"""

TOY = """\
title: Toy
seeds: 1
streams: {toy: {family: toy-step}}
metrics: [log_predictive]
methods: [mean]
"""


@pytest.fixture
def load(tmp_path):
    def loaded(text: str, name: str = "some.yaml") -> Config:
        (tmp_path / name).write_text(text)
        return config_file.load(tmp_path / name)

    files = [("methods", "paper", METHODS), ("studies", "step", STUDY), ("studies", "toy", TOY)]
    for kind, name, text in files:
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / f"{name}.yaml").write_text(text)
    return loaded


def settings(plan: Config, study: str, method: str) -> dict[str, dict]:
    return dict(plan.studies[study].pipelines[method])


def errors(load, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text)
    return str(caught.value)


def test_a_study_with_a_budget(load):
    plan = load("budget: quick\nstudies: [step]\n")
    study = plan.studies["step"]
    assert (study.title, study.seeds, study.streams) == ("Steps", 2, ["steps"])
    assert plan.streams["steps"].settings["points"] == 12
    assert list(study.methods) == ["beam-mean", "mean", "narrow"]
    assert study.methods["narrow"].method == "beam-mean"


def test_what_is_special_beats_what_is_general(load):
    plan = load("budget: full\nstudies: [step]\n")
    assert settings(plan, "step", "mean")["gaussian-mean"]["noise_sd"] == 3.0
    assert settings(plan, "step", "narrow")["gaussian-mean"]["noise_sd"] == 2.0
    assert settings(plan, "step", "narrow")["beam"]["size"] == 1
    assert settings(plan, "step", "beam-mean")["beam"]["size"] == 6
    own = plan.studies["step"].methods["own"]
    assert own.method is None and dict(own.pipeline)["gaussian-mean"]["noise_sd"] == 7.0


def test_settings_of_the_study_reach_a_pipeline_that_it_writes_out_and_do_not_beat_it(load):
    plan = load(
        "budget: few\nstudies:\n  a:\n    from: step\n"
        "    settings: {beam.size: 4, gaussian-mean.noise_sd: 2.0}\n"
        "    methods: {own: [beam, {gaussian-mean: {noise_sd: 7.0}}]}\n"
    )
    own = dict(plan.studies["a"].methods["own"].pipeline)
    assert (own["beam"]["size"], own["gaussian-mean"]["noise_sd"]) == (4, 7.0)


def test_a_list_of_methods_picks_and_keeps_what_was_said_of_them(load):
    plan = load("budget: few\nstudies: [step]\n")
    assert list(plan.studies["step"].methods) == ["mean", "beam-mean"]
    assert settings(plan, "step", "beam-mean")["beam"]["size"] == 2


def test_settings_of_methods_that_are_not_picked_do_no_harm(load):
    plan = load(
        "budget: few\nstudies:\n  a: {from: step, methods: [own: [{beam: {}}, gaussian-mean]]}\n"
    )
    assert list(plan.studies["a"].methods) == ["own"]


def test_a_study_under_another_name_and_budget(load):
    plan = load("budget: quick\nstudies:\n  - twin: {from: step, budget: few, seeds: 9}\n")
    assert list(plan.studies) == ["twin"]
    assert (plan.studies["twin"].seeds, len(plan.studies["twin"].methods)) == (9, 2)


def test_a_config_that_starts_from_another(load, tmp_path):
    load("budget: quick\nseeds_per_job: 3\nstudies: [step]\n", "first.yaml")
    changed = load(
        "from: first\nstudies:\n  step: {seeds: 4, methods: {mean: {label: The mean}}}\n"
    )
    assert changed.seeds_per_job == 3
    assert changed.studies["step"].seeds == 4
    assert changed.studies["step"].methods["mean"].label == "The mean"
    added = load("from: first.yaml\nbudget: few\nstudies:\n  more: {from: step}\n")
    assert list(added.studies) == ["step", "more"]
    picked = load("from: first\nbudget: full\nstudies: [twin: {from: step}]\n")
    assert list(picked.studies) == ["twin"], "a list picks"
    assert picked.studies["twin"].seeds == 2, "as the config has it that it starts from"


def test_our_own_config_can_be_started_from(load):
    plan = load("from: embedded\nstudies: [nile, toy-step: {seeds: 3}]\n")
    assert list(plan.studies) == ["nile", "toy-step"] and plan.studies["toy-step"].seeds == 3


def test_methods_of_ones_own(load):
    text = "budget: quick\nmethods:\n  wide: {label: Wide, cite: [mine], summary: Mine, pipeline:"
    text += (
        " [gaussian-mean: {noise_sd: 9.0}]}\nstudies:\n  - step: {from: step, methods: [wide]}\n"
    )
    plan = load(text)
    assert settings(plan, "step", "wide")["gaussian-mean"]["noise_sd"] == 1.0, "the study's"
    assert plan.studies["step"].methods["wide"].method == "wide"


def test_two_files_with_one_method_are_an_error_but_ours_may_be_replaced(load, tmp_path):
    again = tmp_path / "methods/again.yaml"
    again.write_text(METHODS.replace("beam-mean", "ewc").replace("ensemble:", "other:"))
    told = errors(load, "budget: quick\nstudies: [step]\n")
    assert 'methods/paper.yaml, line 8, mean: the method "mean" is also in again.yaml' in told
    assert "ewc" not in told, "ours"
    again.unlink()
    load("budget: quick\nstudies: [step]\n")


def test_a_method_that_replaces_ours_is_not_the_one_of_the_papers(load):
    """Claims and numbers of papers are about our method, also of a copy of it."""
    ours = Library(OURS).methods["vbs-toy-k2"].data["pipeline"]
    for pipeline, method in ((ours, "vbs-toy-k2"), (["gaussian-mean"], None)):
        own = {"label": "Own", "cite": ["unpublished"], "summary": "x", "pipeline": pipeline}
        changes = {"from": "step", "methods": ["vbs-toy-k2"], "settings": {}}
        config = {"budget": "quick", "methods": {"vbs-toy-k2": own}, "studies": {"mine": changes}}
        study = load(json.dumps(config)).studies["mine"]
        assert study.methods["vbs-toy-k2"].method == method


def test_errors_stand_where_they_were_written(load, tmp_path):
    path = tmp_path / "studies" / "step.yaml"
    path.write_text(STUDY.replace("beam.size: 1,", "beam.size: 0,").replace("title", "titel"))
    text = errors(load, "budget: quick\nstudies: [step]\n")
    assert f"{path}, line 1, titel: unknown key" in text
    assert f"{path}, line 7, methods[2].narrow.beam.size: should be a whole number of" in text
    assert f"{path}, line 1, title: this key is missing" in text


def test_looks_are_the_methods_own_and_all_different(load):
    study = load("from: cpu\nstudies: [split-fashion-mnist]\n").studies["split-fashion-mnist"]
    assert study.method_styles["vcl"] == ("orange", "^") and study.method_styles["ewc"] == (
        "red",
        "o",
    )
    assert study.method_styles["vcl-wide"][0] == "orange", "another marker"
    assert len(set(study.method_styles.values())) == len(study.methods)


def test_a_method_without_a_colour_has_one_of_its_own_while_there_is_one(load):
    about = "label: Mine, cite: [me], summary: An idea., pipeline: [gaussian-mean]"
    own = f"methods:\n  mine: {{{about}}}\n"
    names = "[vbs-linear, mine, bocpd-table, static-table]"
    changes = f"studies:\n  own: {{from: nile, methods: {names}, reference: null}}\n"
    styles = load(f"from: embedded\n{own}{changes}").studies["own"].method_styles
    assert [styles[name][0] for name in styles].count(styles["mine"][0]) == 1, styles


def test_more_methods_than_looks_share_them(load):
    many = "".join(f"      m{number}: {{from: mean}}\n" for number in range(80))
    text = f"budget: quick\nstudies:\n  step:\n    from: step\n    methods:\n{many}"
    study = load(text).studies["step"]
    assert len(study.method_styles) >= 80 and len(set(study.method_styles.values())) == 70


def test_figures_have_all_colours_and_markers():
    assert list(figure_style.COLOURS) == list(get_args(Colour))
    assert list(figure_style.MARKERS) == list(get_args(Marker))


def test_the_form_of_a_method_is_checked(load, tmp_path):
    path = tmp_path / "methods" / "paper.yaml"
    path.write_text(METHODS.replace("label: Mean", "lable: Mean"))
    text = errors(load, "budget: quick\nstudies: [step]\n")
    assert f'{path}, line 9, mean.lable: unknown key "lable"; did you mean "label"?' in text
    assert f"{path}, line 8, mean.label: this key is missing" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("studies: [step]", "line 1, studies[0]: the study \"step\" has budgets; choose one"),
        ("budget: cpu\nstudies: [step]", 'unknown budget of the study "step" "cpu"; known: quick'),
        ("studies: [stepp]", 'line 1, studies[0]: unknown study "stepp"; did you mean "step"?'),
        ("budget: few\nstudies: [step, step]", '"step" is listed twice'),
        ("budget: few\nstudies: [[step]]", "write a name, or one name with its changes"),
        ("budget: few\nstudies: step", "should be a list of names, or a mapping"),
        ("budget: few\nstudie: [step]", 'unknown key "studie"; did you mean "studies"?'),
        ("from: nowhere\nstudies: [step]", 'there is no config "nowhere"'),
        ("from: some\nstudies: [step]", "starts from itself"),
        ("budget: few\nstudies:\n  a: {from: step, methods: [meen]}",
         'line 3, studies.a.methods[0]: unknown method "meen"; did you mean "mean"?'),
        ("budget: few\nstudies:\n  a: {from: step, methods: [ensemble]}",
         'the method "ensemble" is quoted from farquhar2020radial, Table 2 and cannot be run'),
        ("budget: few\nstudies:\n  a: {from: step, methods: {mean: {beam.size: 2}}}",
         'unknown component "beam"; known: gaussian-mean; write component.key'),
        ("budget: few\nstudies:\n  a: {from: step, methods: {beam-mean: {beam: 2}}}",
         'methods.beam-mean.beam: "beam" is a component; write beam.KEY, such as beam.size'),
        ("budget: few\nstudies:\n  a: {from: step, methods: [x: {from: beam-mean, beam.: 2}]}",
         'methods[0].x.beam.: "beam" is a component; write beam.KEY, such as beam.size'),
        ("budget: few\nstudies:\n  a: {from: step, settings: {gaussian-mean: 2}}",
         '"gaussian-mean" is a component; write gaussian-mean.KEY, such as gaussian-mean.'),
        ("budget: few\nstudies:\n  a: {from: step, settings: {mfvi.epochs: 2}}",
         "line 3, studies.a.settings.mfvi.epochs: no method of this study has this component"),
        ("budget: few\nmethods: {m: {label: M, cite: [li2021vbs], summary: S.}}\nstudies:\n"
         "  a: {from: step, methods: [m]}",
         'line 4, studies.a.methods[0]: the method "m" has no `pipeline`; write one, as a list'),
        ("budget: few\nstudies:\n  a: {from: step, methods: {mean: 3}}",
         "should be changes of the method, or a pipeline as a list"),
        ("budget: few\nstudies:\n  a: {from: step, settings: hello}",
         "line 3, studies.a.settings: should be a mapping of component.key to a value"),
        ("budget: few\nstudies:\n  a: {from: step, settings: [{beam.size: 2}]}",
         "line 3, studies.a.settings: should be a mapping of component.key to a value"),
        ("budget: few\nstudies:\n  a: {from: step, budgets: {few: {seeds: many}}}",
         "line 3, studies.a.budgets: only a study's file has budgets"),
        ("budget: papper\nstudies: [toy]",
         "line 1, budget: no study here has budgets in its file; take this key out"),
        ("studies:\n  a: {from: toy, budget: few}",
         'line 2, studies.a.budget: the study "toy" has no budgets; take this key out'),
        ("budget: few\nstudies: [step]\nstreams: {steps: {family: toy-step, points: 20}}",
         'there is another stream "steps" in this config; rename one of them'),
        ("budget: few\nstudies:\n"
         "  a: {from: step, methods: {mean: {label: M}, narrow: {label: M}}}",
         'line 3, studies.a.methods.narrow.label: the method "mean" has this label too; write'),
        ("budget: few\nstudies:\n  a: {from: step, methods: [mean: {label: own}, own: [sva]]}",
         'line 3, studies.a.methods[1].own: another method has the label "own"; write another'),
        ("budget: few\nstudies:\n  a: {from: step, methods: {mean: {label: \"M\\nN\"}}}",
         "line 3, studies.a.methods.mean.label: should be one line of at most 200 characters"),
        ("budget: few\nstudies:\n  a: {from: step, methods: [o: [{gaussian-mean: {}, sva: null}]]}",
         "studies.a.methods[0].o[0]: write a name, or one name with its settings"),
    ],
)  # fmt: skip
def test_mistakes_are_named(load, text, words):
    assert words in errors(load, text)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("cite: [li2021-vbs], pipeline: [gaussian-mean]",
         'methods.m.cite[0]: unknown work "li2021-vbs"; did you mean "li2021vbs"? A work that'),
        ("cite: [mine], quoted: 'mine, Table 1', pipeline: [gaussian-mean]",
         "methods.m.quoted: a method with a `pipeline` is run, not quoted; take one of both out"),
        ("cite: [mine], missing: data, pipeline: [gaussian-mean]", 'unknown key "missing"'),
        ("cite: [{mine: 1}], pipeline: [gaussian-mean]", "methods.m.cite[0]: should be text"),
        ("cite: mine, pipeline: [gaussian-mean]", "methods.m.cite: should be a list"),
        ("cite: [mine], pipeline: [gausian-mean]", 'did you mean "gaussian-mean"?'),
        ("cite: [mine], pipeline: [gaussian-mean: {noise: 1}]", "unknown setting of gaussian-mean"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("picked", ["mean", "m"])
def test_a_method_of_ones_own_is_checked_whether_a_study_picks_it_or_not(
    load, method, words, picked
):
    text = f"budget: few\nmethods: {{m: {{label: M, summary: S, {method}}}}}\n"
    told = errors(load, f"{text}studies: {{a: {{from: step, methods: [{picked}]}}}}")
    assert words in told and ": 1 error (" in told


def test_keys_of_a_method_are_checked_whether_the_budget_picks_it_or_not(load, tmp_path):
    (tmp_path / "studies/step.yaml").write_text(STUDY.replace("beam.size: 1", "beem.size: 1"))
    for budget in ("few", "quick"):
        found = errors(load, f"budget: {budget}\nstudies: [step]\n")
        assert 'narrow.beem.size: unknown component "beem"; did you mean "beam"?' in found


def test_a_budget_is_a_mapping_or_empty_whether_a_config_uses_it_or_not(load, tmp_path):
    for budget in ("few", "quick"):
        (tmp_path / "studies/step.yaml").write_text(f"{STUDY}  other: x\n")
        found = errors(load, f"budget: {budget}\nstudies: [step]\n")
        assert "budgets.other: should be a mapping, or nothing after the name" in found
        assert ": 1 error (" in found
        (tmp_path / "studies/step.yaml").write_text(f"{STUDY}  other:\n")
        assert "step" in load(f"budget: {budget}\nstudies: [step]\n").studies


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("studies: {a: {from: stepp, methods: [mean], settings: {x.y: 1}}}", "did you mean"),
        ("studies: {a: {from: step, methods: [mean]}}", "has budgets; choose one"),
        ("from: nowhere\nstudies: [some, other: {seeds: 3}]", 'there is no config "nowhere"'),
        ("budget: few\nstudies: {a: {from: step, methods: [meen], settings: {beam.size: 2}}}",
         'unknown method "meen"'),
        ("studies: {a: {title: A, streams: [x], seeds: 1, metrics: [nll], methods: [mean]}}",
         'unknown stream "x"'),
        ("seeds_per_job: 3", "line 1, studies: this key is missing"),
        ("studies:", "line 1, studies: should be a list of names, or a mapping"),
        ("- a\n- b", "line 1, the file: this is not a config"),
        ("day,visits", "line 1, the file: this is not a config"),
        ("studies: {a: {from: permuted-digits, methods: [vcl]}}",
         'the `reference` of the study, "independent", is not among them; add it, or write'),
    ],
)  # fmt: skip
def test_what_follows_from_an_unknown_name_is_no_error_of_its_own(load, text, words):
    told = errors(load, text)
    assert words in told and ": 1 error (" in told


def test_an_unknown_name_hides_no_error_of_another_study(load):
    told = errors(load, "budget: few\nstudies: {a: {from: stepp}, b: {from: step, seeds: 0}}")
    assert 'unknown study "stepp"' in told and "studies.b.seeds" in told


def test_a_study_can_be_named_as_our_configs_name_it(load):
    ours = load("from: embedded\nstudies: [permuted-digits]")
    assert load("studies: [permuted-digits]") == ours.model_copy(update={"seeds_per_job": 10})
    known = ours.studies["permuted-digits"]
    changed = load("studies: {a: {from: permuted-digits, seeds: 2}}").studies["a"]
    assert changed == known.model_copy(update={"seeds": 2})
    named = load("budget: cpu\nstudies: [permuted-mnist-full]")
    assert named.studies == load("from: cpu\nstudies: [permuted-mnist-full]").studies
    told = errors(load, "budget: few\nstudies: [permuted-digits]")
    assert 'unknown study "permuted-digits"; did you mean "permuted-images"?' in told


def test_every_budget_of_every_study_is_in_a_config():
    """Otherwise no check would cover it."""
    there = {
        (path.stem, budget)
        for path in Path("config/studies").glob("*.yaml")
        for budget in yaml.safe_load(path.read_text())["budgets"]
    }
    picked = set()
    for path in Path("config").glob("*.yaml"):
        plan = yaml.safe_load(path.read_text())
        for item in plan.get("studies", []):
            name, entry = (item, {}) if isinstance(item, str) else next(iter(item.items()))
            picked.add((entry.get("from", name), entry.get("budget", plan["budget"])))
    assert picked == there


def test_every_method_of_ours_is_right():
    library = Library(Path("config"))
    for name, part in library.methods.items():
        method = Method.model_validate_json(json.dumps(part.data))
        lacks = bool(method.quoted or components.artefacts_with_row(name))
        assert (method.pipeline is None) == lacks, name
        for kind, item in by_kind(method.pipeline or []):
            components.check(kind, *item)
