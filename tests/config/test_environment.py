"""A spec has the versions of what its job imports, with dependencies, and of nothing else."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

from shiftbench.config import components, config_file, digest, environment, spec_code, specs
from shiftbench.core.errors import UserError

KINDS = ("streams", "models", "learners", "combinators", "metrics", "artefacts")
EVERY = [components.module_name(kind, name) for kind in KINDS for name in components.names(kind)]


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """Return a function that replaces the lock by a changed copy."""

    def changed(pattern: str, new: str) -> None:
        text, times = re.subn(pattern, new, environment.LOCK.read_text(), flags=re.MULTILINE)
        assert times
        (tmp_path / "lock").write_text(text)
        forget()
        monkeypatch.setattr(environment, "LOCK", tmp_path / "lock")

    def forget() -> None:
        environment._lock.cache_clear()
        environment._versions.cache_clear()
        spec_code._of_code.cache_clear()

    yield changed
    forget()


def all_specs() -> dict[str, str]:
    """Return the environment of each run and figure of the default config."""
    plan = config_file.load(Path("config/embedded.yaml"))
    found = {}
    for name, study in plan.studies.items():
        for method in study.methods:
            spec = specs.run(plan, name, study.streams[0], method, plan.blocks(name)[0])
            found[f"{name}/{method}"] = spec["environment"]
        for artefact in study.artefacts:
            found[f"{name}:{artefact}"] = specs.artefact(plan, name, artefact)["environment"]
    return found


def stale(before: dict[str, str]) -> set[str]:
    after = all_specs()
    return {name for name in before if after[name] != before[name]}


@pytest.mark.long
def test_a_package_that_no_job_imports_makes_none_stale(locked):
    before = all_specs()
    locked(r"^ruff==[\w.]+", "ruff==0.0.1")
    assert stale(before) == set()


@pytest.mark.long
def test_a_package_makes_stale_what_imports_it(locked):
    before = all_specs()
    locked(r"^numba==[\w.]+", "numba==0.0.1")
    found = stale(before)
    assert {"online-regret/oga", "nile/standard", "toy-step/vbs-k1"} <= found
    assert "permuted-digits/vogn" not in found


def test_a_package_makes_stale_what_imports_what_needs_it(locked):
    before = all_specs()
    locked(r"^absl-py==[\w.]+", "absl-py==0.0.1")
    found = stale(before)
    assert "permuted-digits/vogn" in found and "online-regret/oga" not in found
    assert not any(":" in name for name in found), "no figure imports TensorFlow"


def test_every_package_is_known_by_the_name_that_it_is_installed_by():
    there = importlib.metadata.packages_distributions()
    imported = digest.foreign(*EVERY) - sys.stdlib_module_names
    assert len(imported) > 10
    for name in imported:
        assert environment.package(name) in {one.lower() for one in there[name]}


def test_a_package_that_is_not_locked_is_named(locked):
    locked(r"^numba==[\w.]+", "nomba==0.1")
    with pytest.raises(UserError, match="has no numba, which the code imports"):
        environment.versions("shiftbench.methods.learners.oga")
