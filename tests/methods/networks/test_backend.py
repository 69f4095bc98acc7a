"""Runs of one spec give the same bytes in every process."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from shiftbench.core import seeds
from shiftbench.core.interface import Problem
from shiftbench.methods.inverse_root import inverse_sqrt
from shiftbench.methods.models import mlp
from shiftbench.methods.networks.backend import fused, graph, tf
from shiftbench.methods.networks.fisher import mean_fisher
from tests.checkout import ROOT


def digest_of_a_fisher() -> str:
    """Return the digest of 89,610 sums of 20,000 terms."""
    n, problem = 20_000, Problem("classification", (28, 28, 1), 10, 20_000, 2)
    model = mlp.build(mlp.Settings(hidden=(100, 100)), problem)
    rng = np.random.default_rng(0)
    inputs = rng.random((1, n, 28, 28, 1), np.float32)
    data = inputs, rng.integers(10, size=(1, n)), np.ones((1, n), bool)
    seed = seeds.block(range(1), "test")

    @graph
    def fisher(parameters, *data):
        return mean_fisher(model, parameters, data, "expected", False, 512, 256, seed)

    parameters = tf.constant(rng.normal(0, 0.1, (1, 1, 89_610)), tf.float32)
    return hashlib.sha256(fisher(parameters, *data).numpy().tobytes()).hexdigest()


@pytest.mark.long
def test_a_sum_of_many_terms_is_the_same_in_every_process():
    """TensorFlow's graph optimiser gave a Fisher whose last digits differed between processes."""
    code = "import shiftbench\n"  # before NumPy, see shiftbench/core/instructions.py
    code += f"from {__name__} import digest_of_a_fisher\nprint(digest_of_a_fisher())"
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == digest_of_a_fisher()


@pytest.mark.parametrize("compiled", [graph, fused])
def test_quotients_and_roots_are_rounded_as_every_processor_rounds_them(compiled):
    """Processors used to approximate 1 / x and rsqrt with their own instructions."""
    x = np.linspace(0.01, 40, 5001, dtype=np.float32)
    actual = compiled(lambda x: (1.0 / x, 1.0 / (1.0 + x), inverse_sqrt(x)))(x)
    expected = 1 / x, 1 / (1 + x), np.sqrt(x) / x
    for of_graph, of_numpy in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(of_graph, of_numpy)


def test_no_operation_that_processors_approximate():
    names = re.compile(r"\b(rsqrt|reciprocal|erfinv|ndtri)\(")
    files = [path.name for path in (ROOT / "src").rglob("*.py") if names.search(path.read_text())]
    assert files == []
