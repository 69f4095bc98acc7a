"""Learners get the shapes they ask for, of package and user models, without TensorFlow."""

from __future__ import annotations

import subprocess
import sys

LEARNER = '''\
"""Keeps the shapes that it is given."""

from dataclasses import dataclass

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Learner

FACTS = Facts(takes={"classes": "categorical"}, model="shapes")


@dataclass(frozen=True)
class Settings:
    """None."""


def build(settings, problem, model):
    return Learner(lambda seeds: model, None, None)
'''
MODEL = '''\
"""A network of a user, described and no more."""

from dataclasses import dataclass

from shiftbench.core.shapes import Shapes


@dataclass(frozen=True)
class Settings:
    width: int = 3
    """Of its one layer."""


def describe(settings, problem):
    hidden = (settings.width,)
    return Shapes("mine", problem.input_shape, (), hidden, problem.n_outputs, 1, "categorical")
'''
CODE = """
import sys
from pathlib import Path
from shiftbench.core.interface import Problem
from shiftbench.config import user_components
from shiftbench.evaluation.running import pipeline

assert user_components.use(Path("shape_parts")) == []
problem = Problem("classification", (4,), 2, 5, 1)
for model, hidden in (["mlp", {"hidden": [6, 5]}], (6, 5)), (["mine", {"width": 7}], (7,)):
    found = pipeline.assemble([["kept", {}]], model, problem).init([])
    assert found.kind == model[0] and found.hidden == hidden and found.n_outputs == 2
assert "tensorflow" not in sys.modules
"""


def test_shapes_of_our_models_and_of_a_users(tmp_path) -> None:
    for kind, name, text in (("learners", "kept", LEARNER), ("models", "mine", MODEL)):
        (tmp_path / "shape_parts" / kind).mkdir(parents=True)
        (tmp_path / "shape_parts" / kind / f"{name}.py").write_text(text)
    subprocess.check_call([sys.executable, "-c", CODE], cwd=tmp_path)
