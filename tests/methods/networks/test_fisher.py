"""Memory and masks of the Fisher matrix; its values are tested in learners/test_map.py."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.models import convnet
from shiftbench.methods.networks.backend import graph, tf
from shiftbench.methods.networks.fisher import mean_fisher
from tests.checkout import ROOT

HEADS, ROWS = 6, 64


def of_sixty_outputs() -> None:
    """Compute a Fisher of sixty outputs; all at once took .6 GB, and 12 to 23 GB on split CIFAR."""
    problem = Problem("classification", (32, 32, 3), 10 * HEADS, ROWS, HEADS, HEADS)
    model = convnet.build(convnet.Settings(filters=(8, 16)), problem)
    rng = np.random.default_rng(0)
    heads = rng.integers(HEADS, size=(1, ROWS, 1))
    inputs = np.concatenate([rng.random((1, ROWS, 3072)), heads], 2).astype(np.float32)
    data = inputs, rng.integers(10, size=(1, ROWS)), np.ones((1, ROWS), bool)

    @graph
    def fisher(parameters, *data):
        seed = seeds.block(range(1), "test")
        return mean_fisher(model, parameters, data, "expected", False, ROWS, ROWS, seed)

    parameters = tf.constant(rng.normal(0, 0.1, (1, 1, model.size)), tf.float32)
    assert np.isfinite(fisher(parameters, *data).numpy()).all()


@pytest.mark.long
def test_outputs_are_taken_one_by_one_for_memory():
    """Compare a process's peak memory before and after computing the Fisher."""
    code = "from shiftbench.evaluation.running.cost import peak_bytes\n"
    code += f"from {__name__} import of_sixty_outputs, tf\n"
    code += "tf.constant(0.0)\nprint(peak_bytes())\nof_sixty_outputs()\nprint(peak_bytes())"
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    before, with_it = map(int, done.stdout.split())
    assert with_it - before < 3e8
