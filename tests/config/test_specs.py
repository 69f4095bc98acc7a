"""A spec contains everything that a job's result depends on, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiftbench.config import config_file, spec_code, specs
from tests.config.test_config_file import GOOD


@pytest.fixture
def plan(tmp_path):
    return _load(tmp_path, GOOD)


def _load(folder: Path, text: str) -> config_file.Config:
    path = folder / "some.yaml"
    path.write_text(text)
    return config_file.load(path)


def _run(plan: config_file.Config, variant: str = "beam") -> dict:
    return specs.run(plan, "toy", "steps", variant, (0, 1))


def test_run(plan) -> None:
    spec = _run(plan)
    assert spec["stream"]["name"] == "steps"
    assert spec["stream"]["settings"]["points"] == 12
    assert [name for name, _ in spec["learner"]] == ["beam", "gaussian-mean"]
    assert spec["seeds"] == [0, 1]
    assert spec["metrics"] == [], "jump_f1 is taken of the whole run, when it is summarised"
    assert spec["stack"] == "light"
    assert json.loads(json.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("size: 2", "size: 3", False),
        ("points: 12", "points: 13", False),
        ("size: 2", "size: 2, weights: paper", True),
        ("title: Two steps", "title: Steps", True),
        ("seeds: 5", "seeds: 9\n    minutes: 5\n    threads: 2", True),
        ("metrics: [jump_f1]", "metrics: [jump_f1, log_predictive]", False),
    ],
)
def test_digest_follows_what_matters_to_a_run(tmp_path, plan, old, new, same) -> None:
    other = _load(tmp_path, GOOD.replace(old, new))
    assert (_run(other)["digest"] == _run(plan)["digest"]) == same


def test_what_a_study_keeps_is_in_its_runs_alone_that_keep(plan) -> None:
    assert "keeps" not in _run(plan)
    study = plan.studies["toy"].model_copy(update={"keeps": ["predictions"]})
    keeping = plan.model_copy(update={"studies": {"toy": study}})
    assert _run(keeping)["keeps"] == ["predictions"]
    assert _run(keeping)["digest"] != _run(plan)["digest"]


def test_variants_differ_and_do_not_touch_each_other(tmp_path, plan) -> None:
    other = _load(tmp_path, GOOD.replace("size: 2", "size: 3"))
    assert _run(other, "plain") == _run(plan, "plain")
    assert _run(plan, "plain")["digest"] != _run(plan, "beam")["digest"]


def test_scores_depend_on_all_variants(tmp_path, plan) -> None:
    other = _load(tmp_path, GOOD.replace("      plain: [gaussian-mean]\n", ""))
    assert specs.scores(other, "toy")["digest"] != specs.scores(plan, "toy")["digest"]


@pytest.mark.parametrize(
    ("artefact", "metrics"),
    [
        ("detection-table", "alarms"),
        ("alarm-curves", "alarms"),
        ("changepoint-table", "changepoints"),
    ],
)
def test_artefacts_depend_on_the_code_of_metrics_that_they_compute(plan, artefact, metrics) -> None:
    code = specs.artefact(plan, "toy", artefact)["code"]
    assert f"shiftbench.evaluation.metrics.{metrics}" in spec_code.behind()[code]


def test_stream_knows_the_checksums_of_its_raw_files(tmp_path) -> None:
    images = "{family: transformed-images, dataset: mnist}"
    plan = _load(tmp_path, GOOD.replace("streams:\n", f"streams:\n  images: {images}\n", 1))
    data = specs.stream(plan, "images")["data"]
    assert len(data["train-images-idx3-ubyte.gz"]) == 64
