"""`check` refuses what does not fit before any run, with line, reason and remedy."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from shiftbench.config import (
    compatibility,
    compatibility_words,
    components,
    config_file,
    shown_words,
)
from shiftbench.config.config_file import ConfigError
from shiftbench.core import facts
from shiftbench.core.errors import UserError

HANGS = 20.0
"""Seconds of processor time after which a check hangs; it takes one or two, on slow machines."""
STREAMS: dict[str, dict[str, Any]] = {
    "toy": {"family": "toy-step"},
    "steady": {"family": "toy-step", "n_steps": 0},
    "nile": {"family": "series", "dataset": "nile", "regressors": "constant"},
    "blocks": {"family": "series", "rows_per_task": 60},
    "london": {"family": "series", "dataset": "london-nox", "regressors": "neighbours"},
    "table": {"family": "tabular", "change": "middle"},
    "steady-table": {"family": "tabular"},
    "numbers": {"family": "tabular", "dataset": "diabetes"},
    "plane": {"family": "tabular", "dataset": "simulated-classification"},
    "digits": {"family": "transformed-images"},
    "digits-cold": {"family": "transformed-images", "warm_up": False},
    "permuted": {"family": "permuted-images"},
    "permuted-heads": {"family": "permuted-images", "heads": "multi"},
    "split": {"family": "split-images", "heads": "single"},
    "split-heads": {"family": "split-images"},
    "words": {"family": "planted-words"},
    "words-seen": {"family": "planted-words", "held_out": 0.0},
    "debates": {"family": "running-text", "dataset": "un-general-debates"},
    "books": {"family": "n-grams"},
}


def written(
    stream: str,
    pipeline: list[Any],
    metrics: list[str] | None = None,
    artefacts: list[str] | None = None,
    model: str | None = "mlp",
    **study: Any,
) -> dict[str, Any]:
    """Return a config with one study of one variant."""
    made = {
        "title": "Fits",
        "streams": [stream],
        "seeds": 1,
        "methods": {"variant": pipeline},
        "metrics": metrics or ["score"],
        "artefacts": artefacts or [],
    }
    if model:
        made["model"] = model
    return {"streams": {stream: STREAMS[stream]}, "studies": {"study": made | study}}


def as_config(data: dict[str, Any]) -> config_file.Config:
    """Return the config of data that have a pipeline for each method."""
    studies = {
        name: study | {"methods": {key: {"pipeline": one} for key, one in study["methods"].items()}}
        for name, study in data["studies"].items()
    }
    whole = json.dumps(data | {"studies": studies})
    return config_file.Config.model_validate_json(whole)


def told(data: dict[str, Any], about: str = "") -> list[str]:
    """Return the misfits of a config, or of one part of the study."""
    found = list(compatibility.problems(as_config(data)))
    for place, text in found:
        assert place and place[0] in ("streams", "studies")
        assert "; " in text or ": " in text, "a reason, and a remedy"
        assert text.count("\n") == 0 and "None" not in text and "frozenset" not in text
    return [text for place, text in found if not about or about in place]


DIFFUSE = {"beam": {"broadening": "diffuse"}}
PIPELINES = [
    ("toy", ["mfvi"], "takes images", "take control-chart"),
    ("toy", ["bayes-linear"], "with a design matrix", "take control-chart"),
    ("toy", ["skipgram"], "the counts of one word at a time", "take control-chart"),
    ("toy", ["oga"], "gives real values without inputs", "take control-chart"),
    ("digits", ["gaussian-mean"], 'stream "digits" gives images', "map, mesu, mfvi"),
    ("digits", ["oga"], "takes rows of features", "map, mesu"),
    ("digits", ["hat"], "needs a head for each task", "permuted-images (heads: multi"),
    ("permuted", ["hat"], 'which stream "permuted" does not have', "set `heads` to multi"),
    ("split", ["hat"], "needs a head for each task", "set `heads` to multi"),
    ("digits", ["skipgram"], "the counts of one word at a time", "map, mesu"),
    ("digits", ["per-word", "skipgram"], "takes counts of pairs of words", "take"),
    ("words", ["skipgram"], "gives counts of pairs", 'put "per-word" before it'),
    ("words", ["beam", "per-word", "skipgram"], "does not go with counts", '"per-word"'),
    ("words", ["reset", "per-word", "skipgram"], "does not go with counts", '"per-word"'),
    ("words", ["per-word", "joint", "skipgram"], "the counts of one word", "take"),
    ("words", ["per-word", "map"], '"per-word" gives the counts of one word', "take skipgram"),
    ("table", ["bayes-linear"], "gives rows of features", "take ngvi"),
    ("table", ["gaussian-mean"], "each of one of two classes", "take"),
    ("table", ["gibbs-grid"], "needs one or two features", "set `dataset` to simulated-cl"),
    ("table", [{"oga": {"loss": "squared"}}], "does not go with rows", '"oga" to auto or hinge'),
    ("numbers", [{"svb": {"loss": "hinge"}}], "does not go with rows", "to auto, squ"),
    ("table", [{"svb": {"schedule": "linear"}}], "divides by ridge", "set ridge above 0"),
    ("london", ["beta-hmc"], "gives real values with several design", "take bayes-linear"),
    ("digits", [{"mfvi": {"estimator": "local", "family": "radial"}}], "radial", "flipout"),
    ("permuted-heads", ["beam", "hat"], "needs a posterior that can be broadened", "map, mesu"),
    ("permuted-heads", ["run-length", "hat"], "needs a log evidence", "map, mesu"),
    ("permuted-heads", ["joint", "hat"], "rows of several tasks at once", 'take "joint" out'),
    ("permuted-heads", ["coreset", "hat"], "rows of several tasks", 'take "coreset" out'),
    ("digits", ["beam", "ucb"], "a posterior that can be broadened", "map, mesu, mfvi"),
    ("table", ["beam", "oga"], "that can be broadened", "take ngvi, oga-el, online-logistic or s"),
    ("table", ["beam", "sva"], 'broadened inside it, and "sva" has none', "logistic or svb"),
    ("numbers", ["forget", "sva"], "that can be broadened", "take bayes-linear"),
    ("toy", ["beam", "beam", "gaussian-mean"], "be broadened", 'put "gaussian-mean" directly'),
    ("toy", ["beam", "reset", "gaussian-mean"], "be broadened", "directly inside"),
    ("toy", ["run-length", "beam", "gaussian-mean"], "a log evidence", "directly inside"),
    ("toy", ["run-length", "reset", "gaussian-mean"], "a log evidence", "directly inside"),
    ("toy", ["joint", "run-length", "gaussian-mean"], "rows of several tasks", 'take "joint" out'),
    ("permuted", ["coreset", "beam", "map"], "rows of several tasks", 'take "coreset" out'),
    ("nile", ["beam", {"bayes-linear": {"beta_p": 0.1}}], "can be broadened", "`beta_p` to 0.0"),
    ("nile", [DIFFUSE, "bayes-linear"], "changes that diffuse the post", "r, geometric or ou"),
    ("nile", ["beam", "beta-hmc"], "can be broadened", "take bayes-linear, dsm, gaussian-mean, li"),
    ("table", ["mfvi"], "takes images", "take ngvi"),
    ("nile", ["vogn"], "with a design matrix each", "take bayes-linear"),
    ("nile", ["run-length", "beta-hmc"], "needs a log evidence", "take bayes-linear"),
    ("digits", ["learned-beta", "vogn"], "a beta_rlm above 0", "out"),
    ("digits", ["learned-beta", "mfvi"], "a beta_rlm above 0", "out"),
    ("nile", ["learned-beta", "gaussian-mean"], "a beta_rlm above 0", "take bayes-linear"),
    ("nile", ["learned-beta", "bayes-linear"], "a beta_rlm above 0", "to something other than 0.0"),
    ("nile", ["learned-prior", {"bayes-linear": {"beta_p": 0.1}}], "log density", "_p` to 0.0"),
    ("digits", ["coreset", "map"], "does not go with a warm-up", "`warm_up` of stream"),
    ("table", ["coreset", "svb"], "does not go with tasks of one row", "take"),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "pipeline", "reason", "remedy"), PIPELINES)
def test_a_learner_that_does_not_fit(stream, pipeline, reason, remedy) -> None:
    found = told(written(stream, pipeline), "methods")
    assert len(found) == 1, found
    before, _, after = found[0].rpartition("; ")
    assert reason in before and remedy in after, found[0]


@pytest.mark.parametrize(
    ("learner", "model", "words"),
    [
        ("hat", "linear", 'which model "linear" does not have; take the model convnet'),
        ("hat", {"mlp": {"hidden": []}}, "set `hidden` to something other than []"),
        (
            {"mfvi": {"estimator": "local"}},
            "convnet",
            'set `estimator` of "mfvi" to flipout or sample',
        ),
    ],
)
def test_a_model_that_does_not_fit(learner, model, words) -> None:
    (found,) = told(written("permuted-heads", [learner], model=model))
    assert words in found


METRICS = [
    ("toy", "gaussian-mean", "accuracy", "needs test data", "take a stream of"),
    ("table", "svb", "accuracy", "needs test data", "permuted-images"),
    ("toy", "gaussian-mean", "regret", "needs a table in random orders", "tabular"),
    ("toy", "gaussian-mean", "change_f1", "takes counts of pairs of words", "another stream"),
    ("toy", "gaussian-mean", "dating_error", "takes counts of pairs of words", "another stream"),
    ("digits", "map", "dating_error", "takes counts of pairs of words", "another stream"),
    ("digits", "map", "jump_f1", "decisions about changes", '"beam"'),
    ("toy", "gaussian-mean", "f1", "decisions about changes", '"run-length"'),
    ("toy", "gaussian-mean", "run_length_zeros", "run lengths", '"run-length"'),
    ("digits", "map", "log_predictive", "judges Gaussian densities", "accuracy"),
    ("digits", "map", "squared_error", "takes real values", "out"),
    ("numbers", "oga", "log_predictive", "a real score, no density", "average_cumulative"),
    ("table", "svb", "squared_error", "takes real values", "out"),
    ("nile", "bayes-linear", "average_cumulative_loss", "takes rows", "out"),
    ("digits", "map", "acc", "all tasks so far", "permuted-images"),
    ("numbers", "linear-gaussian", "regret", "a loss of each row", '"oga"'),
    ("numbers", {"svb": {"hidden": 3, "loss_draws": 2}}, "regret", "a loss of each row", '"oga"'),
    ("table", "ngvi", "regret_bound", "a bound on the regret", '"sva"'),
    ("toy", "gaussian-mean", "exact_map_agreement", "hypotheses", "broadening: diffuse"),
    ("digits", "map", "exact_map_agreement", "takes real values", "out"),
]


@pytest.mark.parametrize(("stream", "learner", "metric", "reason", "remedy"), METRICS)
def test_a_metric_that_does_not_fit(stream, learner, metric, reason, remedy) -> None:
    found = told(written(stream, [learner], [metric]), "metrics")
    assert len(found) == 1, found
    before, _, after = found[0].rpartition("; ")
    assert reason in before and remedy in after, found[0]


IN_BEAM = ["beam", "gaussian-mean"]
OF_WORDS = ["per-word", "beam", "skipgram"]


@pytest.mark.parametrize(
    ("stream", "pipeline", "metric", "words"),
    [
        ("blocks", ["run-length", "bayes-linear"], "f1", '`rows_per_task` of stream "blocks" to 1'),
        (
            "blocks",
            ["run-length", "bayes-linear"],
            "jump_f1",
            '`rows_per_task` of stream "blocks" to 1',
        ),
        ("london", ["run-length", "bayes-linear"], "shift_recall", "changes that are known"),
        ("steady", IN_BEAM, "jump_f1", "set `n_steps` to something other than 0"),
        ("steady-table", ["beam", "svb"], "shift_precision", "set `change` to middle"),
        ("toy", IN_BEAM, "exact_map_agreement", '"beam" (broadening: diffuse and'),
        ("toy", ["reset", *IN_BEAM], "jump_f1", "decisions about changes"),
        ("toy", ["run-length", "gaussian-mean"], "exact_map_agreement", '"beam"'),
        ("steady", IN_BEAM, "shift_delay", "set `n_steps` to something other than 0"),
        (
            "blocks",
            ["run-length", "bayes-linear"],
            "shift_brier",
            '`rows_per_task` of stream "blocks" to 1',
        ),
        ("table", ["beam", "svb"], "regret", "a loss of each row"),
        ("table", [{"svb": {"schedule": "constant"}}], "regret_bound", "a bound on the regret"),
        ("words", OF_WORDS, "jump_f1", "does not go with counts"),
        ("words", OF_WORDS, "accuracy", "needs test data"),
        ("words", ["per-word", "skipgram"], "change_f1", '"beam"'),
        ("words", ["per-word", "run-length", "skipgram"], "dating_error", "a vector of each word"),
        ("words-seen", OF_WORDS, "heldout_loglik", "set `held_out` to something other than 0.0"),
        ("books", OF_WORDS, "dating_error", "set `held_out` to something other than 0.0"),
        ("debates", OF_WORDS, "change_f1", "planted changes of words"),
    ],
)
def test_a_metric_that_does_not_fit_a_pipeline(stream, pipeline, metric, words) -> None:
    data = written(stream, pipeline, [metric])
    assert not told(data, "methods")
    (found,) = told(data, "metrics")
    assert words in found


def test_one_learner_that_can_be_judged_is_enough_for_decisions_but_not_for_predictions() -> None:
    data = written("digits", ["map"], ["shift_recall", "accuracy"])
    assert len(told(data)) == 1
    data["studies"]["study"]["methods"]["search"] = ["beam", "map"]
    assert not told(data)
    data = written("numbers", ["gaussian-mean"], ["log_predictive"])
    data["studies"]["study"]["methods"]["score"] = ["sva"]
    (found,) = told(data)
    assert '"score" predict a real score' in found


USED = [
    (name, metric)
    for name in components.names("artefacts")
    for metric in components.facts("artefacts", name).uses
]


@pytest.mark.parametrize(("artefact", "metric"), USED)
def test_an_artefact_without_a_metric_that_it_shows(artefact, metric) -> None:
    uses = components.facts("artefacts", artefact).uses
    metrics = [name for name in uses if name != metric] or ["log_predictive"]
    data = written("permuted", ["map"], metrics, [artefact])
    assert any(f"shows {metric}; add it to the metrics" in text for text in told(data, "artefacts"))


@pytest.mark.parametrize(
    ("artefact", "stream", "pipeline", "metrics", "words"),
    [
        ("toy-hypotheses", "toy", ["gaussian-mean"], ["log_predictive"], '"beam"'),
        ("toy-hypotheses", "toy", [{"beam": {"size": 1}}, "gaussian-mean"], ["jump_f1"], "rivals"),
        ("toy-hypotheses", "nile", IN_BEAM, ["f1"], "a known true level"),
        ("segmentation", "nile", ["gaussian-mean"], ["log_predictive"], '"run-length"'),
        ("segmentation", "toy", ["run-length", "gaussian-mean"], ["f1"], "series over time"),
        (
            "segmentation",
            "blocks",
            ["run-length", "bayes-linear"],
            ["squared_error"],
            '_task` of stream "blocks" to 1',
        ),
        ("beta-contours", "nile", ["bayes-linear"], ["squared_error"], '"beta-hmc"'),
        ("word-changes", "words", ["per-word", "skipgram"], ["dating_error"], '"beam"'),
        ("word-trajectories", "words", ["per-word", "skipgram"], ["dating_error"], '"beam"'),
        ("word-changes", "toy", IN_BEAM, ["jump_f1"], "takes counts"),
        ("relative-accuracy", "digits", ["map"], ["accuracy"], "`baseline: METHOD`"),
        (
            "relative-accuracy",
            "permuted-heads",
            ["map"],
            ["accuracy"],
            'set `heads` of stream "permuted-heads" to single',
        ),
        ("shift-detection", "digits", ["map"], ["accuracy"], "decisions about changes"),
        (
            "shift-detection",
            "steady",
            IN_BEAM,
            ["log_predictive"],
            "set `n_steps` to something other than 0",
        ),
        ("accuracy-matrix", "digits", ["map"], ["accuracy"], "all tasks so far"),
    ],
)
def test_an_artefact_that_does_not_fit(artefact, stream, pipeline, metrics, words) -> None:
    found = told(written(stream, pipeline, metrics, [artefact]), "artefacts")
    assert any(words.replace("rivals", "two hypotheses or more") in text for text in found), found


def test_values_that_are_tried_fit_too() -> None:
    tuning = {
        "metric": "shift_recall",
        "trials": 2,
        "streams": {"judge_on": "validation", "validation": 100},
        "methods": {"variant": {"mfvi.family": ["gaussian", "radial"]}},
    }
    beam = ["beam", {"mfvi": {"estimator": "local"}}]
    data = written("permuted", beam, ["shift_recall", "accuracy"], tuning=tuning)
    (found,) = told(data)
    assert "not for radial draws" in found
    data = written("permuted", ["mfvi"], ["accuracy"], tuning=tuning)
    (found,) = told(data, "tuning")
    assert "decisions about changes" in found


def test_every_misfit_has_its_line(tmp_path: Path) -> None:
    text = """\
streams:
  digits: {family: transformed-images}
studies:
  one:
    title: One
    streams: [digits]
    seeds: 1
    model: mlp
    metrics:
      - accuracy
      - log_predictive
      - acc
    artefacts: [tasks-learnt]
    methods:
      fine: [map]
      wrong:
        - beam
        - ucb
      other: [gaussian-mean]
"""
    path = tmp_path / "misfits.yaml"
    path.write_text(text)
    started = time.process_time()
    with pytest.raises(ConfigError) as caught:
        config_file.load(path)
    assert time.process_time() - started < HANGS
    lines = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert [line.partition(": ")[0] for line in lines] == [
        "line 11, studies.one.metrics[1]",
        "line 12, studies.one.metrics[2]",
        "line 13, studies.one.artefacts[0]",
        "line 17, studies.one.methods.wrong[0]",
        "line 19, studies.one.methods.other[0]",
    ]


def test_what_has_another_error_is_left_to_the_other_checks() -> None:
    assert not told(written("digits", ["beem", "map"], ["acuracy"], ["tabel"]))
    assert not told(written("digits", [{"map": {"epochs": "many"}}]))
    data = written("digits", ["map"])
    data["streams"]["digits"] = {"family": "transformd-images"}
    assert not told(data)


def every() -> Iterator[tuple[str, list[str]]]:
    """Yield each learner, alone and in each combinator, on each stream."""
    outer = [[], *([name] for name in components.names("combinators"))]
    pipelines = itertools.product(outer, components.names("learners"))
    for stream, (around, learner) in itertools.product(STREAMS, pipelines):
        yield stream, [*around, learner]


@pytest.mark.long
def test_every_pair_is_accepted_or_refused_with_reason_and_remedy() -> None:
    """Include every metric and artefact of accepted pairs; `told` checks each message."""
    started = time.process_time()
    metrics, artefacts = components.names("metrics"), components.names("artefacts")
    accepted = 0
    for stream, pipeline in every():
        if not told(written(stream, pipeline), "methods"):
            accepted += 1
            if len(pipeline) == 1:
                told(written(stream, pipeline, metrics, artefacts))
    assert accepted > 100
    assert time.process_time() - started < 10 * HANGS


def test_one_check_is_fast_however_much_does_not_fit(tmp_path: Path) -> None:
    learners = {"-".join(pipeline): pipeline for stream, pipeline in every() if stream == "toy"}
    data = written("digits", ["map"], components.names("metrics"), components.names("artefacts"))
    data["studies"]["study"]["methods"] = learners
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump(data))
    config_errors_known = time.process_time()
    with pytest.raises(ConfigError):
        config_file.load(path)
    assert time.process_time() - config_errors_known < HANGS


def test_what_is_taken_from_kept_predictions_needs_a_study_that_keeps_them() -> None:
    data = written("digits", ["map"], ["auc_at_30"], model="mlp")
    (found,) = told(data, "metrics")
    assert found.endswith("from the predictions of each row; add `keeps: [predictions]`")
    assert not told(written("digits", ["map"], ["auc_at_30"], model="mlp", keeps=["predictions"]))


def test_predictions_are_kept_of_classes_only() -> None:
    for stream, pipeline in (("nile", ["gaussian-mean"]), ("words", ["per-word", "skipgram"])):
        (found,) = told(written(stream, pipeline, ["score"], keeps=["predictions"]), "keeps")
        assert found.startswith("predictions are kept of probabilities of classes, and")
        assert found.endswith("take `keeps` out")


def test_looks_are_between_the_steps_that_fit_a_network() -> None:
    (found,) = told(written("nile", ["gaussian-mean"], ["log_predictive"], looks=3), "looks")[:1]
    assert found.startswith("looks are between the steps by which a learner fits a network, and")
    assert found.endswith("fits none; take `looks` out")
    assert not told(written("digits", ["map"], ["accuracy"], model="mlp", looks=3))
    assert not told(written("nile", ["gaussian-mean"], ["log_predictive"], looks=1))


def test_a_look_needs_a_metric_that_judges_test_data() -> None:
    (found,) = told(written("digits", ["map"], ["shift_brier"], model="mlp", looks=3), "looks")
    assert found.endswith("add one such as accuracy, or take `looks` out")


@pytest.mark.parametrize("kind", components.FOLDERS)
def test_components_declare_known_words(kind: str) -> None:
    """A typo in a declaration would refuse what fits or accept what does not."""
    kinds, predictions = facts.KINDS, facts.PREDICTIONS
    properties, offers = compatibility_words.PROPERTIES, compatibility_words.OFFERS
    words = {
        "gives": kinds | properties | offers,
        "takes": kinds,
        "requires": properties,
        "refuses": kinds | properties | offers,
        "offers": offers,
        "from_learner": offers,
        "passes": offers,
        "judges": predictions,
        "blank": properties,
        "uses": components.names("metrics"),
        "study": get_args(facts.StudyKey),
    }
    for name, (fact, known) in itertools.product(components.names(kind), words.items()):
        used = components.facts(kind, name).possible(fact)
        assert set(used) <= set(known), f"{name}: {fact}"
        of_settings = components.fields(kind, name) if kind not in ("metrics", "artefacts") else {}
        for when in used.values() if fact != "takes" or kind != "learners" else ():
            for one in [] if when is True else [when] if isinstance(when, dict) else when:
                assert {key.removeprefix(facts.NOT) for key in one} <= of_settings.keys()


def test_words_of_a_study_are_those_of_counts_and_in_the_vocabulary() -> None:
    (found,) = told(written("toy", ["gaussian-mean"], words=["climate"]), "words")
    assert found.startswith("words are those of counts, and stream")
    data = written("words", OF_WORDS, ["dating_error"], words=["the-01", "climat"])
    assert not told(data, "words")
    shown = ["words=the-01", "words=climat"]
    shown_words.refuse_absent(shown, "words", ["climat", "the-01"])
    with pytest.raises(UserError, match=r'its word "climat" is not .* the nearest is "climate"'):
        shown_words.refuse_absent(shown, "words", ["the-01", "climate", "apartheid"])
    with pytest.raises(UserError, match='the nearest is "climate"'):
        shown_words.refuse_absent(["words=CLIMATE"], "words", ["CO2", "climate"])


def test_a_setting_that_has_to_change_is_told_with_the_values_that_remain(tmp_path) -> None:
    stream = {"family": "image-file", "path": str(tmp_path), "protocol": "plain"}
    data = written("digits", ["beam", "mfvi"], ["accuracy"], ["shift-detection"])
    data["streams"]["digits"] = stream
    (found,) = told(data, "artefacts")
    assert found.endswith("does not have; set `protocol` to tasks, split or permuted")


def test_what_stays_empty_is_noted() -> None:
    data = written("london", ["run-length", "bayes-linear"], ["f1", "n_changepoints"])
    checked = as_config(data)
    (note,) = compatibility.notes(checked)
    assert note == 'study: "f1" stays empty on stream "london", which has changes that no one knows'
    data = written("permuted", ["map"], ["accuracy", "fwt"])
    (note,) = compatibility.notes(as_config(data))
    assert note == 'study: "fwt" stays empty without a `reference`'


def test_declared_conditions() -> None:
    assert facts.holds({"a": (1,), "not b": (2,)}, {"a": 1, "b": 3})
    assert not facts.holds({"a": (1,), "not b": (2,)}, {"a": 1, "b": 2})
    assert facts.holds(({"a": (1,)}, {"b": ((),)}), {"a": 2, "b": []})


@pytest.mark.parametrize(
    ("kind", "stream", "some", "none"),
    [
        ("learners", "toy", {"gaussian-mean"}, {"map", "oga", "skipgram"}),
        ("learners", "words", {"skipgram"}, {"map", "gaussian-mean"}),
        ("learners", "split-heads", {"hat", "map", "vogn"}, {"oga"}),
        ("combinators", "nile", {"learned-beta", "run-length", "joint"}, {"per-word", "coreset"}),
        ("combinators", "words", {"per-word", "beam", "reset"}, {"coreset", "joint"}),
        ("metrics", "table", {"regret", "shift_recall"}, {"accuracy", "log_predictive"}),
        ("metrics", "split", {"acc", "accuracy", "jump_f1"}, {"regret", "dating_error"}),
        ("artefacts", "words", {"word-changes", "score-table"}, {"regret", "accuracy-matrix"}),
        ("models", "digits", {"convnet", "mlp"}, set()),
        ("models", "table", {"mlp", "linear"}, {"convnet"}),
    ],
)
def test_what_fits_a_stream(kind, stream, some, none) -> None:
    made = as_config(written(stream, ["map"])).streams[stream]
    given = compatibility.given(stream, made)
    assert given is not None
    found = set(compatibility.fitting(kind, given))
    assert some <= found and not none & found
