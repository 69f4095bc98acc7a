"""Components are described without an import, just like the imported module."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from pydantic import ValidationError

from shiftbench.config import components
from shiftbench.core import checkout
from shiftbench.core.errors import UserError

ALL = [(kind, name) for kind in components.FOLDERS for name in components.names(kind)]
WITH_SETTINGS = [pair for pair in ALL if pair[0] not in ("metrics", "artefacts")]


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_component_has_a_summary(kind: str, name: str) -> None:
    assert components.summary(kind, name).endswith(".")


@pytest.mark.parametrize(("kind", "name"), WITH_SETTINGS)
def test_every_setting_is_documented(kind: str, name: str) -> None:
    assert all(document for _, _, document in components.fields(kind, name).values())


def test_constants() -> None:
    for name in components.names("metrics"):
        assert components.metric(name).stage in ("before", "after", "run")
    for name in components.names("artefacts"):
        assert components.artefact_kind(name) in ("figure", "table")


def test_no_file_of_the_package_looks_like_a_test() -> None:
    assert not [*checkout.PACKAGE.rglob("test_*.py"), *checkout.PACKAGE.rglob("*_test.py")]


def test_unknown_name() -> None:
    with pytest.raises(UserError, match="no 'vogm' among the learners"):
        components.path("learners", "vogm")


def test_settings_equal_those_of_the_imported_module() -> None:
    module = components.load("streams", "toy-step")
    extracted = components.settings("streams", "toy-step")
    assert {f.name: f.default for f in dataclasses.fields(extracted)} == {
        f.name: f.default for f in dataclasses.fields(module.Settings)
    }
    made = components.configured("streams", "toy-step", {"points": 9})
    assert made == module.Settings(points=9)


@pytest.mark.parametrize("values", [{"size": 0}, {"size": 1.5}, {"size": "2"}, {"sise": 1}])
def test_wrong_settings(values: dict) -> None:
    with pytest.raises(ValidationError):
        components.check("combinators", "beam", values)


def test_integer_is_a_real_number_and_a_list_is_a_tuple() -> None:
    assert components.check("combinators", "beam", {"variance": 2})["variance"] == 2.0
    assert components.check("models", "mlp", {"hidden": [3, 4]})["hidden"] == [3, 4]


@pytest.mark.long
def test_planning_imports_nothing_heavy() -> None:
    code = """
import sys
from shiftbench.config import config_file, specs
plan = config_file.load("config/embedded.yaml")
for study in plan.studies:
    specs.scores(plan, study)
    for name in plan.studies[study].artefacts:
        specs.artefact(plan, study, name)
    for stream in plan.studies[study].streams:
        specs.stream(plan, stream)
        for method in plan.studies[study].pipelines:
            for block in plan.blocks(study):
                specs.run(plan, study, stream, method, block)
heavy = {"tensorflow", "xarray", "numpy", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.check_call([sys.executable, "-c", code])


def test_settings_of_base_classes_of_the_package_count() -> None:
    fields = components.fields("streams", "transformed-image-file")
    assert {"path", "rotation_sd", "test_share"} < fields.keys()
    assert fields["validation"][2].startswith("Number of test images")
    assert components.check("streams", "transformed-image-file", {"path": "a"})["tasks"] == 30


def test_functions_that_unsupported_calls_are_read_from_their_module():
    settings = components.check("streams", "transformed-images", {"concepts": 3})
    (reason,) = components.unsupported("streams", "transformed-images", settings)
    assert "set schedule to recurring" in reason
