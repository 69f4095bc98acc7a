"""Contract of models; the first line of each test is shown to users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.contract import selection
from shiftbench.contract.problems import Parts, S, key
from shiftbench.core.interface import Problem
from shiftbench.core.shapes import Shapes

KIND = "models"
PARTS = Parts()


def on_problem(name: str, function: str) -> tuple[Any, Problem]:
    """Call a function of the model with default settings, on a problem that it takes."""
    if not components.defines(KIND, name, function):
        pytest.skip(f"no function {function}")
    module = components.load(KIND, name)
    kinds = components.facts(KIND, name).possible("takes") or ("classes",)
    problem = PARTS.problem(next(iter(kinds)))
    return getattr(module, function)(module.Settings(), problem), problem


@pytest.mark.parametrize("name", selection.names(KIND))
def test_outputs_have_the_shape_of_the_problem(name):
    """What it builds takes rows of the problem, and gives finite outputs, one for each class."""
    model, problem = on_problem(name, "build")
    from shiftbench.methods.networks.model import glorot, point

    inputs = PARTS.batch(problem).inputs[:, None]
    found = np.asarray(model.forward(point(glorot(model, key("init"))), inputs))
    assert found.shape == (S, 1, problem.n_train, problem.n_outputs)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", selection.names(KIND))
def test_shapes_lead_from_the_inputs_to_the_outputs(name):
    """What it describes are `Shapes` that end in the problem's outputs."""
    found, problem = on_problem(name, "describe")
    assert isinstance(found, Shapes)
    assert found.input_shape == problem.input_shape and found.n_outputs == problem.n_outputs
    assert [layer.fan_out for layer in found.layers if layer.fan_in][-1] == problem.n_outputs
