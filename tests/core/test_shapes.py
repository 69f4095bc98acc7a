"""Descriptions of networks agree with the networks of the package's models."""

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
CASES = [(model, settings, name) for model, settings, names in SETTINGS for name in names]


@pytest.mark.parametrize(("model", "settings", "name"), CASES)
def test_a_description_agrees_with_the_network(model, settings, name) -> None:
    problem = PROBLEMS[name]
    configured = components.configured("models", model, settings)
    network = components.load("models", model).build(configured, problem)
    described = shapes.describe(model, dataclasses.asdict(configured), problem)
    assert [layer[1:] for layer in described.layers] == [layer[1:3] for layer in network.layers]
    assert described.size == network.size
    of_network = network.likelihood, network.noise_sd, network.noise
    assert (described.likelihood, described.noise_sd, described.noise) == of_network


def test_every_model_of_ours_is_described() -> None:
    models = {model for model, _, _ in SETTINGS}
    assert models == set(components.files("models", components.OURS))


def test_descriptions_need_no_tensorflow() -> None:
    code = "import sys, shiftbench.core.shapes; assert 'tensorflow' not in sys.modules"
    subprocess.check_call([sys.executable, "-c", code])
