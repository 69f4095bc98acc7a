"""Cost of a training step of the continual learners beside PyTorch's.

.venv-peers/bin/python -m perf.continual [--threads 2], on a quiet machine, after `make
peers` and the two commands in envs/peers.txt, which says why they are apart. Minutes. Ours and
PyTorch's have a process each: what comes with the usual wheel of torch crashes beside TensorFlow.

1. Whether the plain PyTorch steps do what ours do: VOGN's sums for the same weights and rows, and
   how far Adam, EWC and SI go in some steps. Raises where not. MFVI's draws differ, so it is not
   compared.
2. Milliseconds a step. Ours is the learner's `observe`, some epochs less one, so that neither
   tracing nor the ELBO counts; nor the making of its table of noise, for several draws. PyTorch's
   are plain steps (torch_steps.py), written for speed: with fresh noise, and with an excerpt of a
   table as ours; and bayesian-torch, with as many forward passes as draws. All shuffle, and treat
   biases as they do weights. Networks: 784-100-100-10, 256 rows; for Flipout the convnet of
   li2021vbs, Table 2, 64 rows.

Processor time on one thread; with --threads 2 wall time. Rounds alternate.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import psutil

from perf.continual_shared import (
    ADAM,
    DAMPING,
    DRAWS,
    EWC,
    FLIPOUT,
    FRESH,
    LOCAL,
    OURS,
    PACKAGE,
    SAMPLED,
    SHARED,
    SI,
    VOGN,
    Rows,
)
from shiftbench.core import seeds

ROUNDS, PASSES = 5, 3
HIDDEN = (16, 12)
"""Of the small network on which the two are compared."""


class Side:
    """The functions of a module, called in a process that it has for itself."""

    def __init__(self, module: str) -> None:
        self.module = module
        # Spawned: a fork would inherit what this process has imported.
        self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))

    def __call__(self, function: str, *arguments: Any) -> Any:
        return self.pool.submit(call, self.module, function, *arguments).result()


def call(module: str, function: str, *arguments: Any) -> Any:
    """In the process of a side."""
    return getattr(importlib.import_module(module), function)(*arguments)


def rows_of(shape: tuple[int, ...], count: int) -> Rows:
    """Random ones."""
    numbers = seeds.generator(seeds.fold("benchmarks", "continual"))
    return Rows(numbers.random((count, *shape), np.float32), numbers.integers(0, 10, count))


def report(what: str, theirs: np.ndarray, ours: np.ndarray) -> None:
    """Prints the largest difference, relative to the largest entry; raises where it is large."""
    apart = np.abs(theirs - ours).max() / np.abs(ours).max()
    print(f"   {what}: {apart:.0e} from ours")
    if not apart <= 1e-3:
        raise RuntimeError(f"{what}: not the same work")


def compare(ours: Side, theirs: Side) -> None:
    """Section 1: VOGN's sums for one set of draws; the way of some steps from one start."""
    rows, numbers = rows_of((20,), 64), np.random.default_rng(0)
    network = ours("network", VOGN, rows, HIDDEN)
    draws = numbers.normal(0, 0.05, (DRAWS, network.size)).astype("f4")
    sums = theirs("sums_of_vogn", network, rows, draws), ours("sums_of_vogn", rows, HIDDEN, draws)
    for what, *both in zip(("gradients", "their squares"), *sums, strict=True):
        report(f"VOGN, sum of {what}", *both)
    start = numbers.normal(0, 0.1, network.size).astype("f4")
    precision, rate, steps = numbers.random(network.size, "f4"), 0.01, 20
    for case in (ADAM, EWC, SI):
        given = start, precision, rate, steps
        found, path = theirs("way", case, network, rows, *given)
        moved, gained = ours("way", case, rows, HIDDEN, *given)
        report(f"{case}, way of {steps} steps", found, moved)
    report("SI, importance", 2 * np.maximum(path / (found**2 + DAMPING), 0), gained)


def costs(case: str, ours: Side, theirs: Side, wall: bool) -> dict[str, list[float]]:
    """Milliseconds a step in each round, by column."""
    batches, size = (2, 64) if case == FLIPOUT else (10, 256)
    rows = rows_of((32, 32, 3) if case == FLIPOUT else (784,), batches * size)
    ours("prepare", case, rows, size, (1, PASSES))
    columns = theirs("prepare", case, ours("network", case, rows), rows, size, (1, PASSES))

    def seconds(column: str, passes: int) -> float:
        if column == OURS:
            return ours("timed", passes, wall)
        return theirs("timed", column, passes, wall)

    found: dict[str, list[float]] = {column: [] for column in (OURS, *columns)}
    for _ in range(ROUNDS):
        for column, values in found.items():
            apart = seconds(column, PASSES) - seconds(column, 1)
            values.append(1e3 * apart / ((PASSES - 1) * batches))
    return found


def line(name: str, costs: dict[str, list[float]]) -> str:
    """Of the table: median (least), and times ours."""
    found = f"{name:30s}"
    for column in (OURS, FRESH, SHARED, PACKAGE):
        cell = ""
        if column in costs:
            middle = statistics.median(costs[column])
            cell = f"{middle:.2f} ({min(costs[column]):.2f})"
            if column != OURS:
                cell += f" x{middle / statistics.median(costs[OURS]):.2f}"
        found += f"{cell:>{17 if column == OURS else 23}s}"
    return f"{found}  load {psutil.getloadavg()[0]:.1f}"


def main() -> None:
    """Prints both sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="more: wall time")
    threads = parser.parse_args().threads
    ours, theirs = Side("perf.continual_ours"), Side("perf.continual_torch")
    for side in (ours, theirs):
        side("use_threads", threads)
    print("1. Largest differences of plain PyTorch, relative to the largest entry")
    compare(ours, theirs)
    what = "wall" if threads > 1 else "processor"
    print(f"\n2. ms of {what} time a step, {threads} thread(s) of {psutil.cpu_count()}: median")
    print(f"   of {ROUNDS} rounds (least), and times ours: aim x1 of plain, x2.5 of published code")
    print(f"{'':30s}{OURS:>17s}{FRESH:>23s}{SHARED:>23s}{PACKAGE:>23s}")
    for case in (VOGN, LOCAL, SAMPLED, ADAM, EWC, SI, FLIPOUT):
        print(line(case, costs(case, ours, theirs, threads > 1)), flush=True)
    print("Published code on another machine, not comparable: notes on continual learning, 5.")


if __name__ == "__main__":
    main()
