"""The schema of configs accepts all our files and marks mistakes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shiftbench.config import json_schema, yaml_lines

SCHEMA = json_schema.whole()
OF_CONFIG = jsonschema.Draft202012Validator(SCHEMA)
OF_STUDY = jsonschema.Draft202012Validator({"$ref": "#/$defs/study", "$defs": SCHEMA["$defs"]})
GOOD: dict[str, Any] = {
    "streams": {"rows": {"family": "tabular", "rows": 30}},
    "studies": {
        "mine": {
            "title": "Mine",
            "streams": {"steps": {"family": "toy-step"}},
            "methods": ["vcl", {"own": ["beam", {"gaussian-mean": {"noise_sd": 1}}]}],
            "metrics": ["jump_f1"],
            "artefacts": ["score-table"],
        }
    },
}


def test_schema_is_a_schema() -> None:
    OF_CONFIG.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("validator", "files"), [(OF_CONFIG, "config"), (OF_STUDY, "config/studies")]
)
def test_our_files_are_valid(validator, files: str) -> None:
    paths = sorted(Path(files).glob("*.yaml"))
    assert len(paths) >= 3
    for path in paths:
        assert [*validator.iter_errors(yaml_lines.read(path).data)] == [], path


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("studiez", {}),
        ("streams.rows.family", "tabullar"),
        ("streams.rows.points", 3),
        ("streams.rows.rows", "many"),
        ("studies.mine.titel", "Mine"),
        ("studies.mine.streams.steps.n_steps", -1),
        ("studies.mine.metrics", ["jumpf1"]),
        ("studies.mine.methods", {"own": ["beam", {"gaussian-mean": {"noise": 1}}]}),
        ("studies.mine.methods", {"vbs-toy": {"beam.sice": 2}}),
    ],
)
def test_mistakes_are_marked(place: str, wrong: Any) -> None:
    config = copy.deepcopy(GOOD)
    assert OF_CONFIG.is_valid(config)
    *keys, last = place.split(".")
    inner = config
    for key in keys:
        inner = inner[key]
    inner[last] = wrong
    assert not OF_CONFIG.is_valid(config)
