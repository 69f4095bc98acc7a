"""What `check` accepts runs: a tiny run of each light learner in each fitting combination."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from shiftbench.config import compatibility, components, config_file, digest, specs
from shiftbench.config.schema import Config
from shiftbench.contract.problems import TRIED
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import harness

STREAMS: dict[str, dict[str, Any]] = {
    "toy": {"family": "toy-step", "realisations": 1, "points": 6},
    "nile": {"family": "series", "dataset": "nile", "regressors": "constant", "rows_per_task": 50},
    "plane": {
        "family": "tabular",
        "dataset": "simulated-classification",
        "simulated_rows": 20,
        "rows": 6,
        "realisations": 1,
    },
    "numbers": {"family": "tabular", "dataset": "diabetes", "rows": 6, "realisations": 1},
}
METRICS = {"plane": "prequential_error", "numbers": "absolute_error"}
"""Metrics for all predictions of a stream that log_predictive cannot judge."""
QUICK = {"keep": 3, "size": 2, "a0": 100.0, "prior_df": 100.0}
"""Settings with few hypotheses, and noise posteriors that allow tempering after every row."""


def light(name: str) -> bool:
    module = components.module_name("learners", name)
    heavy = ("tensorflow", "tensorflow_probability")
    return not any(digest.imports(module, package) for package in heavy)


def items(kind: str) -> list[dict[str, dict[str, Any]]]:
    """Return the components of a kind with the settings to try, as in a config."""
    found = []
    for name, tried in itertools.product(components.names(kind), TRIED):
        known = components.fields(kind, name)
        if tried.keys() <= known.keys() and (kind == "combinators" or light(name)):
            found.append({name: tried | {k: v for k, v in QUICK.items() if k in known}})
    return found


def written(stream: str, pipelines: dict[str, Any]) -> dict[str, Any]:
    study = {"title": "Fits", "streams": [stream], "seeds": 1, "metrics": ["f1"]}
    return {
        "streams": {stream: STREAMS[stream]},
        "studies": {"study": study | {"methods": pipelines}},
    }


def accepted(stream: str) -> dict[str, list]:
    around: list[list] = [[], *([one] for one in items("combinators"))]
    pipelines = {
        f"v-{number}": [*outer, learner]
        for number, (outer, learner) in enumerate(itertools.product(around, items("learners")))
    }
    methods = {name: {"pipeline": pipeline} for name, pipeline in pipelines.items()}
    made = Config.model_validate_json(json.dumps(written(stream, methods)))
    wrong = {place[3] for place, _ in compatibility.problems(made) if place[2] == "methods"}
    return {name: pipeline for name, pipeline in pipelines.items() if name not in wrong}


@pytest.mark.long
@pytest.mark.parametrize("stream", STREAMS)
def test_all_that_is_accepted_runs(stream, tmp_path: Path) -> None:
    pipelines = accepted(stream)
    assert len(pipelines) >= 4
    data = written(stream, pipelines)
    metric = METRICS.get(stream, "log_predictive")
    data["studies"]["study"]["metrics"] = [metric]
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(data))
    plan = config_file.load(path)
    of_stream = specs.stream(plan, stream)
    made = components.configured("streams", of_stream["family"], of_stream["settings"])
    store = components.load("streams", of_stream["family"]).build(made, tmp_path)
    zarr_zip.stamp(store, f"stream {stream}", of_stream)
    for variant, pipeline in pipelines.items():
        spec = specs.run(plan, "study", stream, variant, (0, 0))
        run, _ = harness.run_job(spec, store, tmp_path / variant, 60)
        assert run["status"].values.tolist() == ["ok"], pipeline
        assert np.isfinite(run["score"].values).all(), pipeline
