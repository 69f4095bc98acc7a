"""Trials of settings: their number, choice and names, and refusals."""

from __future__ import annotations

import pytest
import yaml

from shiftbench.config import components, config_checks, config_file, specs, tuning
from shiftbench.config.config_file import ConfigError

PLAN = """
streams:
  digits: {family: permuted-images, tasks: 3}
studies:
  study:
    title: A study
    streams: [digits]
    model: mlp
    seeds: 2
    metrics: [accuracy, nll]
    artefacts: [score-table]
    methods:
      one: [{map: {epochs: 1}}]
      two: [reset, {map: {epochs: 1}}]
    tuning:
      metric: accuracy
      trials: 3
      streams: {judge_on: validation, first_realisation: 100}
      methods:
        one: {map.strength: [1, 10, 100]}
        two: {map.strength: [2, 10], map.learning_rate: [0.1, 0.01], reset.to: [scratch]}
"""


@pytest.fixture
def load(tmp_path):
    def loaded(change=lambda study: None, text=PLAN):
        data = yaml.safe_load(text)
        change(data["studies"]["study"])
        path = tmp_path / "plan.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return config_file.load(path)

    return loaded


def test_trials_are_a_study_and_streams_of_their_own(load):
    plan = load()
    trials = plan.studies["study-tuning"]
    assert list(plan.studies) == ["study-tuning", "study"]
    assert trials.streams == ["digits-tuning"] and trials.seeds == 1
    assert plan.streams["digits-tuning"].settings["judge_on"] == "validation"
    assert plan.streams["digits"].settings["judge_on"] == "test"
    assert list(trials.pipelines) == [f"{k}-{i}" for k in ("one", "two") for i in range(3)]
    assert [p[-1][1]["strength"] for k, p in trials.pipelines.items() if k[:3] == "one"] == [
        1, 10, 100,
    ]  # fmt: skip
    assert list(plan.studies["study"].pipelines) == ["one", "two"], "all of them tuned"


def test_the_first_trial_is_the_method_as_configured_and_no_other_is(load):
    plan = load()
    trials = plan.studies["study-tuning"].pipelines
    for name, pipeline in plan.studies["study"].pipelines.items():
        assert trials[f"{name}-0"] == pipeline
        others = [trials[f"{name}-{i}"] for i in (1, 2)]
        assert pipeline not in others and others[0] != others[1]


def test_a_method_brings_its_own_search(load):
    def change(study):
        study["methods"] = {"ewc": None, "vcl": {"mfvi.epochs": 1}}
        study["tuning"]["methods"] = {"vcl": {"mfvi.learning_rate": [0.1, 0.2, 0.3]}}

    plan = load(change).studies["study"]
    assert {"map.strength", "map.learning_rate"} == set(tuning.space(plan, "ewc"))
    rates = [point.get("mfvi.learning_rate") for point in tuning.points("study", plan, "vcl")]
    assert rates[0] is None and len({0.1, 0.2, 0.3} & set(rates)) == 2


def test_it_is_said_how_settings_were_found(load):
    plan = load()
    said = tuning.sentence(plan.studies["study"], plan.streams)
    assert "the best of 3 trials by accuracy on validation data of other realisations, 1 s" in said
    assert "not tuned alike" in tuning.sentence(plan.studies["study-tuning"], plan.streams)


@pytest.mark.parametrize(
    ("settings", "tried", "words"),
    [
        ("protocol: plain", "first_realisation: 9", "set apart from the training data"),
        ("protocol: plain, train_per_task: 5", "first_realisation: 9", "of other realisations"),
        ("protocol: plain, train_per_task: 5", "validation: 8", "of the same realisations"),
        ("protocol: split, tasks: 2", "first_realisation: 4", "of the same realisations"),
    ],
)
def test_rows_of_trials_are_said_to_be_other_ones_only_where_they_are(load, settings, tried, words):
    """All realisations of some streams have the same rows, as of most files of images."""

    def change(study):
        study["streams"] = yaml.safe_load(f"{{mine: {{family: image-file, path: ., {settings}}}}}")
        study["tuning"]["streams"] = yaml.safe_load(f"{{judge_on: validation, {tried}}}")

    plan = load(change)
    said = tuning.sentence(plan.studies["study"], plan.streams)
    assert f"on validation data {words}, 1 seed each" in said
    if words.startswith("set"):
        both = plan.studies["study"].model_copy(update={"streams": ["mine", "digits"]})
        named = "set apart from the training data (mine) and of other realisations (digits)"
        tried = both.model_copy(update={"tuning": load().studies["study"].tuning})
        assert named in tuning.sentence(tried, plan.streams)


def test_a_larger_grid_is_drawn_from_without_replacement_and_again_alike(load):
    plan = load().studies["study"]
    points = tuning.points("study", plan, "two")
    assert points == tuning.points("study", load().studies["study"], "two")
    assert len({tuple(point.values()) for point in points}) == 3
    drawn = {str(tuning.points(f"study{i}", plan, "two")) for i in range(40)}
    assert len(drawn) == 6  # each pair of the four points


def test_a_huge_grid_is_not_written_out(load):
    space = {f"map.{name}": list(range(10)) for name in "abcdefghi"}
    study = load().studies["study"]
    of_one = study.tuning.model_copy(update={"methods": {"one": space}})
    first, *points = tuning.points("study", study.model_copy(update={"tuning": of_one}), "one")
    assert first == {} and len(points) == 2
    assert all(list(point) == list(space) for point in points)
    numbers = [int("".join(map(str, point.values()))) for point in points]
    assert numbers == sorted(set(numbers)), "the last setting changes fastest"


def test_trials_may_be_on_another_family(load):
    other = {"family": "split-images", "judge_on": "validation"}
    trials = load(_set("streams", other)).streams["digits-tuning"]
    assert trials.family == "split-images" and trials.settings["judge_on"] == "validation"
    components.check("streams", trials.family, trials.settings)


def test_the_choice_changes_the_pipeline_and_the_checkpoint(load):
    plan = load()
    spec = specs.run(plan, "study", "digits", "two", (0, 1))
    point = {"map.strength": 10, "reset.to": "pretrained"}
    resolved = specs.with_choice(spec, point)
    assert dict(resolved["learner"])["map"]["strength"] == 10
    assert dict(resolved["learner"])["reset"]["to"] == "pretrained"
    assert dict(spec["learner"])["reset"]["to"] == "scratch"
    assert resolved["tuned"] == point and resolved["digest"] != spec["digest"]


FIVE = [f"map.{key}" for key in ("epochs", "batch_size", "fisher_rows", "strength", "damping")]


def _set(key, value):
    return lambda study: study["tuning"].__setitem__(key, value)


def _of_one(space):
    return lambda study: study["tuning"]["methods"].__setitem__("one", space)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda study: study["tuning"].pop("methods"), "this method has no settings to try"),
        (_set("trials", 5), "3 combinations of values, but every method gets 5 trials; add values"),
        (_set("trials", 10**11), "at most 100000"),
        (_set("seeds", 10**11), "at most 100000"),
        (_set("seeds", 10**5), "line 25, studies.study.tuning: 60,000 runs, but at most 50,000"),
        (_of_one(dict.fromkeys(FIVE, [1] * 100)), "more than 1,000,000,000"),
        (_set("metric", "ece"), 'unknown metric of the study "ece"'),
        (_set("streams", {}), "trials must not see test data"),
        (_set("streams", {"judge_on": "validation", "taks": 2}), 'did you mean "tasks"'),
        (_set("methods", {"on": {"map.strength": [1, 2, 3]}}), 'did you mean "one"'),
        (_of_one({"map.strenght": [1, 2, 3]}), 'did you mean "strength"'),
        (_of_one({"mpa.strength": [1, 2, 3]}), 'did you mean "map"'),
        (_of_one({"map": [1, 2, 3]}), '"map" is a component; write map.KEY, such as map.'),
        (_of_one({"map.strength": [1, 2, "x"]}), "should be a number"),
    ],
)
def test_mistakes_are_named(load, change, words, monkeypatch):
    monkeypatch.setattr(config_checks, "MAX_RUNS", 50_000)
    with pytest.raises(ConfigError) as error:
        load(change)
    assert words in str(error.value)


def test_families_with_validation_data_are_named(load):
    text = PLAN.replace("{family: permuted-images, tasks: 3}", "{family: toy-step}")
    with pytest.raises(ConfigError) as error:
        load(_set("streams", {}), text)
    assert "toy-step has no validation data; tune on streams of fundus-images," in str(error.value)


def test_names_of_trials_are_taken(load):
    text = PLAN + "  study-tuning: {title: Mine, streams: [digits], model: mlp, seeds: 1,"
    text += " metrics: [accuracy], methods: {one: [map]}}\n"
    with pytest.raises(ConfigError, match=r'study-tuning: the trials of "study" have this name'):
        load(text=text)
    with pytest.raises(ConfigError, match=r'digits-tuning: a stream of the trials of "study" has'):
        load(text=PLAN.replace("streams:\n", "streams:\n  digits-tuning: {family: toy-step}\n", 1))


def test_two_studies_that_share_a_stream_try_the_same_data(load):
    study = yaml.safe_load(PLAN)["studies"]["study"]
    text = yaml.safe_dump(yaml.safe_load(PLAN) | {"studies": {"study": study, "second": study}})
    assert {"study-tuning", "second-tuning"} < load(text=text).studies.keys()
    other = study | {"tuning": study["tuning"] | {"streams": {"judge_on": "validation"}}}
    text = yaml.safe_dump(yaml.safe_load(PLAN) | {"studies": {"study": study, "second": other}})
    with pytest.raises(ConfigError, match='tune on different data of the stream "digits"; rename'):
        load(text=text)
