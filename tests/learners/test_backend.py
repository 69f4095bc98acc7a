"""Runs of one spec have the same bytes in every process."""

from __future__ import annotations

import subprocess
import sys

FISHER = """
import hashlib
import numpy as np
from shiftbench import seeds
from shiftbench.interface import Problem
from shiftbench.learners._backend import graph, tf
from shiftbench.learners._fisher import mean_fisher
from shiftbench.models import mlp

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
print(hashlib.sha256(fisher(parameters, *data).numpy().tobytes()).hexdigest())
"""


def test_a_sum_of_many_terms_is_the_same_in_every_process(tmp_path):
    """TensorFlow's graph optimiser gave a Fisher other last digits in each of them."""
    script = tmp_path / "fisher.py"
    script.write_text(FISHER)

    def digest() -> str:
        done = subprocess.run([sys.executable, script], check=True, capture_output=True)
        return done.stdout.decode()

    assert len({digest() for _ in range(3)}) == 1
