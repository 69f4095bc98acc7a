"""A learner in one file of one's own, of whatever name, is equal in rights to those of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
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

from shiftbench.interface import Batch, Categorical, Info, Learner, Problem, State

NEEDS: tuple[str, ...] = ()
MODEL = False
TAKES = {"image": "categorical", "classes": "categorical", "two-classes": "categorical"}
REFUSES = ("heads",)


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
import sys
from shiftbench import cli
from shiftbench.planning import config

for study, plan in config.load("mine.yaml").studies.items():
    (stream,) = plan.streams
    paths = {name: f"{study}/{name}.zarr.zip" for name in (stream, "scores", *plan.learners)}
    verbs = [["stream", stream, "--raw", "raw", "--output", paths[stream]]]
    for name in plan.learners:
        files = ["--store", paths[stream], "--output", paths[name], "--cost", "cost.json"]
        seeds = f"0-{plan.seeds - 1}"
        verbs.append(["run", study, stream, name, "--seeds", seeds, *files, "--scratch", "scratch"])
    made = ["--scores", paths["scores"], "--summary", f"{study}/summary.csv"]
    made += ["--tidy", f"{study}/scores.csv", "--streams"]
    runs = [paths[name] for name in plan.learners]
    verbs.append(["summarise", study, *made, paths[stream], "--runs", *runs])
    for verb in verbs:
        assert cli.main([*verb, "--config", "mine.yaml"]) == 0, verb
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A copy of the package and of the contract tests, with two learners more."""
    folder = tmp_path_factory.mktemp("own")
    made = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "src", folder / "src", ignore=made)
    (folder / "envs").mkdir()
    shutil.copy(ROOT / "envs" / "requirements.lock", folder / "envs")
    (folder / "tests").mkdir()
    for name in ("__init__.py", "contract_parts.py", "test_contract.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    learners = folder / "src" / "shiftbench" / "learners"
    (learners / "nearest_mean.py").write_text(NEAREST_MEAN)
    shutil.copy(learners / "oga.py", learners / "my_oga.py")
    (folder / "mine.yaml").write_text(CONFIG)
    return folder


def called(folder: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_they_pass_the_contract(package) -> None:
    chosen = "nearest-mean or my-oga"
    said = called(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", chosen)
    assert "failed" not in said and int(said.split(" passed")[0].split()[-1]) >= 20


def test_they_are_checked_listed_run_and_judged_like_ours(package) -> None:
    listed = called(
        package, "-m", "shiftbench", "list", "learners", "--for", "digits", "--config", "mine.yaml"
    )
    assert "nearest-mean" in listed and "my-oga" not in listed
    called(package, "-c", JOBS)
    regret = pd.read_csv(package / "regret" / "summary.csv").set_index(["learner", "metric"])
    assert regret["n"].eq(2).all()
    ours, mine = (regret.loc[name, ["mean", "sd", "n"]] for name in ("oga", "mine"))
    assert ours.equals(mine)
    # A pipeline has no paper's number, though one is called oga and the data are the paper's.
    assert regret[["published", "published_note"]].isna().all(axis=None)
    classes = pd.read_csv(package / "classes" / "summary.csv").set_index(["learner", "metric"])
    assert classes.loc[("mine", "acc"), "mean"] > 0.3
