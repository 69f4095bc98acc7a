"""Time to train an ensemble of 5 against one of its members, and against 5 in turn.

.venv/bin/python -m benchmarks.ensemble, on a quiet machine. The members are multilayer
perceptrons on the digits of scikit-learn, 1,437 rows of 64 numbers in minibatches of 64; a call
is one task, with all that a learner does in it. Rounds alternate between the contestants, and a
ratio is taken within a round; medians over rounds, processor time on one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import psutil
from sklearn.datasets import load_digits

from shiftbench import seeds
from shiftbench.combinators import ensemble
from shiftbench.interface import Batch, Learner, Problem
from shiftbench.learners import map, mfvi
from shiftbench.models import mlp

MEMBERS, ROWS, ROUNDS = 5, 1437, 7
HIDDEN = ((50,), (100,), (100, 100))
TRAINING = {"epochs": 20, "batch_size": 64}
PROBLEM = Problem("classification", (64,), 10, ROWS, 1)
KEY = seeds.block([0], "benchmarks")
LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "map": (map, {"importance": "none"}),
    "map, dropout": (map, {"importance": "none", "dropout": 0.5}),
    "mfvi, flipout": (mfvi, {"elbo_draws": 1}),
    "mfvi, sample": (mfvi, {"elbo_draws": 1, "estimator": "sample"}),
    "mfvi, local": (mfvi, {"elbo_draws": 1, "estimator": "local"}),
    "radial, sample": (mfvi, {"elbo_draws": 1, "estimator": "sample", "family": "radial"}),
}


def digits() -> Batch:
    """The rows of one repetition."""
    images, labels = load_digits(return_X_y=True)
    inputs = (images[np.newaxis, :ROWS] / 16).astype(np.float32)
    return Batch(inputs, labels[np.newaxis, :ROWS], np.ones((1, ROWS), bool))


def contestants(name: str, hidden: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    """What a call of each trains, traced and compiled."""
    module, settings = LEARNERS[name]
    model = mlp.build(mlp.Settings(hidden), PROBLEM)
    member = module.build(module.Settings(**TRAINING, **settings), PROBLEM, model)
    made: dict[str, Learner] = {
        "one": member,
        "together": ensemble.build(ensemble.Settings(MEMBERS), PROBLEM, member),
        "in turn": ensemble.build(ensemble.Settings(MEMBERS, "sequential"), PROBLEM, member),
    }
    runs = {k: partial(one.observe, one.init(KEY), digits(), KEY) for k, one in made.items()}
    for run in runs.values():
        run()
    return runs


def seconds(run: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Prints one line a learner and network."""
    print(f"load before: {psutil.getloadavg()[0]:.2f} on {psutil.cpu_count()} processors")
    print(f"{'':28s}      one  {MEMBERS} together / one     {MEMBERS} in turn / one")
    for name in LEARNERS:
        for hidden in HIDDEN:
            runs = contestants(name, hidden)
            rounds = [{k: seconds(run) for k, run in runs.items()} for _ in range(ROUNDS)]
            one = statistics.median(each["one"] for each in rounds)
            told = [_ratios([each[k] / each["one"] for each in rounds]) for k in list(runs)[1:]]
            print(f"{name:15s} {hidden!s:12s} {one:7.2f} s  {'   '.join(told)}")


def _ratios(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
