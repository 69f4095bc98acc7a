"""Time to train an ensemble of 5 members side by side, against one of them.

.venv/bin/python -m perf.ensemble, on a quiet machine. The members are multilayer
perceptrons, on the digits of scikit-learn (1,437 rows of 64 numbers) and on breast cancer (455
rows of 30); a call is one task of EPOCHS epochs, with all that a learner does in it. Rounds
alternate between the two, a ratio is taken within a round; medians over rounds, processor time
on one thread. What members share is the price of starting operations; arithmetic and random
numbers are each member's own, and bound the ratio from below.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import psutil
from sklearn import datasets

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Problem
from shiftbench.methods.combinators import ensemble
from shiftbench.methods.learners import map, mfvi
from shiftbench.methods.models import mlp

MEMBERS, EPOCHS, ROUNDS = 5, 20, 5
KEY = seeds.block([0], "benchmarks")
ONE_DRAW = {"elbo_draws": 1}
LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "map": (map, {"importance": "none"}),
    "map, dropout": (map, {"importance": "none", "dropout": 0.5}),
    "mfvi, sample": (mfvi, ONE_DRAW | {"estimator": "sample"}),
    "mfvi, flipout": (mfvi, ONE_DRAW),
    "radial, sample": (mfvi, ONE_DRAW | {"estimator": "sample", "family": "radial"}),
}


class Case(NamedTuple):
    """A data set, its first rows, and how networks are trained on it."""

    load: Callable[..., tuple[np.ndarray, np.ndarray]]
    rows: int
    hidden: tuple[int, ...]
    batch_size: int


CASES = {
    "breast cancer, 50 units, minibatch 32": Case(datasets.load_breast_cancer, 455, (50,), 32),
    "digits, 50 units, minibatch 64": Case(datasets.load_digits, 1437, (50,), 64),
    "digits, 100 units, minibatch 64": Case(datasets.load_digits, 1437, (100,), 64),
}


def contestants(case: Case, name: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """What a call of one member, and of the ensemble, trains; traced and compiled."""
    inputs, labels = case.load(return_X_y=True)
    inputs = (inputs / inputs.max(axis=0).clip(1))[np.newaxis, : case.rows].astype(np.float32)
    batch = Batch(inputs, labels[np.newaxis, : case.rows], np.ones((1, case.rows), bool))
    classes = int(labels.max()) + 1
    problem = Problem("classification", inputs.shape[2:], classes, case.rows, 1)
    module, settings = LEARNERS[name]
    made = module.Settings(epochs=EPOCHS, batch_size=case.batch_size, **settings)
    member = module.build(made, problem, mlp.build(mlp.Settings(case.hidden), problem))
    together = ensemble.build(ensemble.Settings(MEMBERS), problem, member)
    one, all_of_them = (
        partial(learner.observe, learner.init(KEY), batch, KEY) for learner in (member, together)
    )
    one()
    all_of_them()
    return one, all_of_them


def seconds(run: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Prints one line a data set and learner."""
    print(f"load before: {psutil.getloadavg()[0]:.2f} on {psutil.cpu_count()} processors")
    for label, case in CASES.items():
        for name in LEARNERS:
            one, together = contestants(case, name)
            times = [(seconds(one), seconds(together)) for _ in range(ROUNDS)]
            ratios = [b / a for a, b in times]
            alone = statistics.median(a for a, _ in times)
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            print(
                f"{label:38s} {name:15s} one {alone:5.2f} s, {MEMBERS} side by side"
                f" {statistics.median(ratios):.2f} times that ({spread})",
                flush=True,
            )


if __name__ == "__main__":
    main()
