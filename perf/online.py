"""Updates per second of the online learners beside river's and scikit-learn's.

make peers && .venv-peers/bin/python benchmarks/online.py, on a quiet machine. One stream for
all: breast cancer, z-scored, 30 features, 569 rows, in 20 random orders. An update is to
predict a row's score and to learn from it. The others take one order after the other, row by
row; ours take the 20 orders side by side, once row by row as the harness does, once all rows
in one call. Rounds alternate; medians over rounds, processor time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier

from shiftbench.core.interface import Batch
from shiftbench.data.tables import tabular
from shiftbench.methods.learners import ngvi, oga, oga_el, sva, svb

ORDERS, ROUNDS = 20, 5
STORE = tabular.build(tabular.Settings(realisations=ORDERS), Path())
X = STORE["inputs"].values[STORE["order"].values]
Y = STORE["target"].values[STORE["order"].values]
ROWS = X.shape[1]
SEEDS = np.zeros((ORDERS, 2), int)


def with_river() -> int:
    """One order; its updates."""
    model = linear_model.LogisticRegression(
        optim.SGD(ROWS**-0.5), loss=optim.losses.Hinge(), intercept_lr=0.0
    )
    for x, y in zip(RIVER_X, RIVER_Y, strict=True):
        model.predict_one(x)
        model.learn_one(x, y)
    return ROWS


def with_scikit_learn() -> int:
    """One order; its updates."""
    model = SGDClassifier(learning_rate="constant", eta0=ROWS**-0.5, fit_intercept=False)
    model.partial_fit(X[0, :1], Y[0, :1], classes=[0, 1])
    for i in range(1, ROWS):
        model.decision_function(X[0, i : i + 1])
        model.partial_fit(X[0, i : i + 1], Y[0, i : i + 1])
    return ROWS


def ours(module, rows: int) -> Callable[[], int]:
    """All orders, `rows` rows a call; their updates."""
    learner = module.build(module.Settings(), tabular.problem(STORE))
    mask = np.ones((ORDERS, rows), bool)
    parts = [
        Batch(np.ascontiguousarray(X[:, i : i + rows]), Y[:, i : i + rows], mask)
        for i in range(0, ROWS - rows + 1, rows)
    ]

    def run() -> int:
        state = learner.init(SEEDS)
        for part in parts:
            state, _ = learner.observe(state, part, SEEDS)
        return ORDERS * rows * len(parts)

    return run


RIVER_X = [{str(j): float(v) for j, v in enumerate(row)} for row in X[0]]
RIVER_Y = [bool(label) for label in Y[0]]


def main() -> None:
    """Prints one line a contestant: updates per second, and times river's."""
    contestants: dict[str, Callable[[], int]] = {
        "river, LogisticRegression(Hinge)": with_river,
        "scikit-learn, SGDClassifier.partial_fit": with_scikit_learn,
    }
    for module in (oga, oga_el, sva, svb, ngvi):
        name = module.__name__.rsplit(".")[-1].replace("_", "-")
        contestants[f"{name}, 20 orders, row by row"] = ours(module, 1)
        contestants[f"{name}, 20 orders, all rows in a call"] = ours(module, ROWS)
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    print(f"load before: {psutil.getloadavg()[0]:.2f} on {psutil.cpu_count()} processors")
    for run in contestants.values():
        run()  # compiles, or loads what was compiled
    for _ in range(ROUNDS):
        for name, run in contestants.items():
            start = time.process_time()
            updates = run()
            rates[name].append(updates / (time.process_time() - start))
    reference = statistics.median(rates["river, LogisticRegression(Hinge)"])
    for name, of_rounds in rates.items():
        middle = statistics.median(of_rounds)
        spread = f"{min(of_rounds):,.0f} to {max(of_rounds):,.0f}"
        print(f"{name:45s} {middle:12,.0f} /s ({spread}), {middle / reference:6.1f} x river")


if __name__ == "__main__":
    main()
