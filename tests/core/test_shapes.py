"""Shapes are those of the networks that learners of ours compute with."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from shiftbench.config import components
from shiftbench.core import shapes
from shiftbench.core.interface import Problem

PROBLEMS = {
    "classes": Problem("classification", (4,), 3, 20, 3),
    "heads": Problem("classification", (4,), 6, 20, 3, heads=2),
    "number": Problem("regression", (3,), 2, 20, 3),
    "image": Problem("classification", (5, 7, 2), 3, 20, 3),
}
SETTINGS = [
    ("linear", {}, ("classes", "heads", "number", "image")),
    ("linear", {"noise": "learnt", "noise_sd": 0.5}, ("number",)),
    ("mlp", {"hidden": [6, 5]}, ("classes", "heads", "number", "image")),
    ("mlp", {"hidden": [], "noise": "learnt"}, ("number",)),
    ("convnet", {"filters": [4, 8]}, ("image",)),
    ("convnet", {"filters": [4], "hidden": [9, 6]}, ("image",)),
]
CASES = [(model, given, name) for model, given, names in SETTINGS for name in names]


@pytest.mark.parametrize(("model", "given", "name"), CASES)
def test_they_are_those_of_the_network(model, given, name) -> None:
    problem, made = PROBLEMS[name], components.configured("models", model, given)
    network = components.load("models", model).build(made, problem)
    found = shapes.describe(model, dataclasses.asdict(made), problem)
    assert [layer[1:] for layer in found.layers] == [layer[1:3] for layer in network.layers]
    assert found.size == network.size
    of_network = network.likelihood, network.noise_sd, network.noise
    assert (found.likelihood, found.noise_sd, found.noise) == of_network


def test_every_model_of_ours_is_described() -> None:
    known = {model for model, _, _ in SETTINGS}
    assert known == set(components.files("models", components.OURS))


def test_they_come_without_tensorflow() -> None:
    code = "import sys, shiftbench.core.shapes; assert 'tensorflow' not in sys.modules"
    subprocess.check_call([sys.executable, "-c", code])
