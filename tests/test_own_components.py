"""A learner in a user's folder, whatever its name, works like those of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.checkout import ROOT
from tests.forked import called

NEAREST_MEAN = '''\
"""Classes by the nearest mean of their rows so far, in probabilities of a fixed width.

State: total [S, 1, C, d] and count [S, 1, C] of the rows of each class. Info: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt
from scipy.special import softmax

from shiftbench.core.facts import Facts
from shiftbench.core.interface import Batch, Categorical, Info, Learner, Problem, State

FACTS = Facts(
    takes={"image": "categorical", "classes": "categorical", "two-classes": "categorical"},
    refuses=("heads",),
)


@dataclass(frozen=True)
class Settings:
    width: Annotated[float, Gt(0)] = 1.0
    """Standard deviation of a class."""


def build(settings: Settings, problem: Problem, model: None = None) -> Learner:
    """The classifier of problem.n_outputs classes."""
    classes, d = problem.n_outputs, int(np.prod(problem.input_shape))

    def flat(inputs: np.ndarray) -> np.ndarray:
        return inputs.reshape(*inputs.shape[:2], d).astype(float)

    def init(seeds: np.ndarray) -> State:
        size = len(seeds), 1, classes
        return {"total": np.zeros((*size, d)), "count": np.zeros(size)}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        mean = state["total"] / np.maximum(state["count"], 1)[..., None]
        away = ((flat(inputs)[:, None, :, None] - mean[:, :, None]) ** 2).sum(axis=-1)
        probabilities = softmax(-0.5 * away / settings.width**2, axis=-1)
        return Categorical(np.zeros(probabilities.shape[:2]), probabilities)

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        seen = (batch.targets[..., None] == np.arange(classes)) & batch.mask[..., None]
        rows = np.where(batch.mask[..., None], flat(batch.inputs), 0)
        total = np.einsum("snc,snd->scd", seen, rows)
        return {
            "total": state["total"] + total[:, None],
            "count": state["count"] + seen.sum(axis=1)[:, None],
        }, {}

    return Learner(init, predict, observe)
'''
CONFIG = """\
components: parts_of_mine
streams:
  table: {family: tabular, rows: 30, realisations: 2}
  digits: {family: permuted-images, tasks: 2, train_per_task: 100, realisations: 1}
studies:
  regret:
    title: My own learner beside one of ours
    streams: [table]
    seeds: 2
    metrics: [average_cumulative_loss, regret, expected_regret, regret_bound]
    artefacts: [score-table]
    methods:
      oga: [oga]
      mine: [my-oga]
  classes:
    title: My own classifier
    streams: [digits]
    seeds: 1
    metrics: [accuracy, acc, bwt]
    artefacts: [accuracy-matrix]
    methods:
      mine: [nearest-mean]
      all-at-once: [joint, nearest-mean]
"""
JOBS = """\
from pathlib import Path
from tests import job_calls

rules = ("build_stream", "run_method", "summarise_study")
job_calls.make(Path("mine.yaml"), Path("results"), *rules)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """Return a config with two learners in a folder beside it, one a copy of the package's."""
    folder = tmp_path_factory.mktemp("own")
    learners = folder / "parts_of_mine" / "learners"
    learners.mkdir(parents=True)
    (learners / "nearest_mean.py").write_text(NEAREST_MEAN)
    shutil.copy(
        ROOT / "src" / "shiftbench" / "methods" / "learners" / "oga.py", learners / "my_oga.py"
    )
    (folder / "mine.yaml").write_text(CONFIG)
    return folder


@pytest.mark.long
def test_they_pass_the_contract(project) -> None:
    said = called(project, "shiftbench", "test", "parts_of_mine").splitlines()
    assert [line.split(" (")[0] for line in said] == [
        "passes learners my-oga", "passes learners nearest-mean",
    ]  # fmt: skip
    assert all(int(line.split("): ")[1].split()[0]) >= 10 for line in said)


BROKEN = {
    "leaky": ("rows = np.where", 'state["count"] += 1\n        rows = np.where'),
    "grows": ("seen.sum(axis=1)[:, None]", "seen.sum(axis=1)[:, None] + np.random.random()"),
    "unmasked": ("& batch.mask[..., None]", "& True"),
    "unnormalised": ("Categorical(np.zeros(", "Categorical(np.ones("),
    "flat": ("[:2]), probabilities)", "[:2]), probabilities[:, 0])"),
    "absent": ("import numpy as np", "import numpy as np\nimport no_such_package_here"),
}
SAID = {
    "leaky": ["change no state"],
    "grows": ["The same state, data and seeds give the same", "goes on from a saved state"],
    "unmasked": ["Rows that the mask leaves out change nothing"],
    "unnormalised": ["Probabilities and weights sum to one"],
    "flat": ["probabilities has the shape (2, 20, 3), expected (2, 1, 20, 3): [seed 2,"],
    "absent": ["line 12: ModuleNotFoundError: No module named 'no_such_package_here'"],
}


@pytest.mark.long
def test_what_they_do_not_keep_is_said_in_words_with_the_file(tmp_path) -> None:
    learners = tmp_path / "broken_parts" / "learners"
    learners.mkdir(parents=True)
    for name, (old, new) in BROKEN.items():
        assert old in NEAREST_MEAN
        (learners / f"{name}.py").write_text(NEAREST_MEAN.replace(old, new))
    said = called(tmp_path, "shiftbench", "test", "broken_parts", status=1)
    of_part = {part.split()[1]: part for part in said.split("FAILS")[1:]}
    assert of_part.keys() == BROKEN.keys()
    for name, words in SAID.items():
        assert str(learners / f"{name}.py") in of_part[name]
        assert all(one in of_part[name] for one in words), of_part[name]


@pytest.mark.long
def test_they_are_checked_listed_run_and_judged_like_ours(project) -> None:
    listed = called(
        project, "shiftbench", "list", "learners", "--for", "digits", "--config", "mine.yaml"
    )
    assert "nearest-mean" in listed and "my-oga" not in listed
    jobs = [sys.executable, "-c", JOBS]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    subprocess.run(jobs, cwd=project, env=environment, check=True)
    regret = pd.read_csv(project / "results/studies/regret/summary.csv").set_index(
        ["learner", "metric"]
    )
    assert regret["n"].eq(2).all()
    ours, mine = (regret.loc[name, ["mean", "sd", "n"]] for name in ("oga", "mine"))
    assert ours.equals(mine)
    # Published numbers belong to names of pipelines, not to the learner inside.
    assert regret[["published", "published_note"]].isna().all(axis=None)
    classes = pd.read_csv(project / "results/studies/classes/summary.csv").set_index(
        ["learner", "metric"]
    )
    assert classes.loc[("mine", "acc"), "mean"] > 0.3
