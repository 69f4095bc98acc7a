"""Cost of a training step of the continual learners beside PyTorch's.

.venv-peers/bin/python benchmarks/continual.py [--threads 2], on a quiet machine, after `make
peers` and the two commands in envs/peers.txt, which says why they are apart. Minutes.

1. Whether the plain PyTorch steps do what ours do: VOGN's sums for the same weights and rows, and
   how far Adam, EWC and SI go in some steps. Raises where not. MFVI's draws differ, so it is not
   compared.
2. Milliseconds a step. Ours is the learner's `observe`, some epochs less one, so that neither
   tracing nor the ELBO counts; nor the making of its table of noise, for several draws. PyTorch's
   are plain steps (torch_steps.py), written for speed: with fresh noise, and with an excerpt of a
   table as ours; and bayesian-torch, with as many forward passes as draws. All shuffle, and treat
   biases as they do weights. Networks: 784-100-100-10, 256 rows; for Flipout the convnet of seed
   000, Table 2, 64 rows.

Processor time on one thread; with --threads 2 wall time. Rounds alternate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import NamedTuple

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # PyTorch's threads spin otherwise, in ours' time

import numpy as np
import psutil
import torch
from torch import Tensor
from torch_steps import (
    DRAWS,
    RATE,
    Step,
    flipped,
    from_table,
    local,
    map_step,
    mfvi_step,
    package_step,
    pieces,
    sampled,
    shapes,
    vogn_step,
    vogn_sums,
)

from shiftbench import seeds
from shiftbench.interface import Batch, Problem
from shiftbench.learners import _gradients, map, mfvi, vogn
from shiftbench.learners._backend import tf
from shiftbench.learners._training import Rows
from shiftbench.models import convnet, mlp
from shiftbench.models._model import Model, point

ROUNDS, PASSES = 5, 3
KEY = seeds.block([0], "benchmarks")
OURS, FRESH, SHARED, PACKAGE = "ours", "plain PyTorch", "with a noise table", "bayesian-torch"


class Data(NamedTuple):
    """Random rows for a model, as ours and as PyTorch take them."""

    model: Model
    problem: Problem
    batch: Batch
    inputs: Tensor
    labels: Tensor


def data(module: ModuleType, shape: tuple[int, ...], count: int, **settings) -> Data:
    """`count` rows."""
    problem = Problem("classification", shape, 10, count, 1)
    numbers = seeds.generator(seeds.fold("benchmarks", "continual"))
    x, y = numbers.random((1, count, *shape), np.float32), numbers.integers(0, 10, (1, count))
    inputs = torch.tensor(x[0])
    if len(shape) == 3:  # the faster of PyTorch's layouts of images
        inputs = inputs.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    model = module.build(module.Settings(**settings), problem)
    return Data(model, problem, Batch(x, y, np.ones((1, count), bool)), inputs, torch.tensor(y[0]))


def report(what: str, theirs: Tensor, ours: tf.Tensor | np.ndarray) -> None:
    """Prints the largest difference, relative to the largest entry; raises where it is large."""
    a, b = theirs.detach().numpy().ravel(), np.ravel(ours)
    apart = np.abs(a - b).max() / np.abs(b).max()
    print(f"   {what}: {apart:.0e} from ours")
    if not apart <= 1e-3:
        raise RuntimeError(f"{what}: not the same work")


def check_vogn(of: Data) -> None:
    """The sums for one set of draws; ours are of the log likelihood's gradients."""
    model, layout = of.model, shapes(of.model)
    drawn = torch.randn(DRAWS, model.size) / 20
    each = [pieces(draw, layout) for draw in drawn]
    parts = [torch.stack(part, int(i == 0)) for i, part in enumerate(zip(*each, strict=True))]
    rows = Rows(of.batch.inputs[:, np.newaxis], of.batch.targets, tf.ones(of.batch.mask.shape))
    _, passed = _gradients.signals(model, point(drawn.numpy()[np.newaxis]), rows)
    gradients, squares = _gradients.moments(passed, DRAWS)
    first, second = vogn_sums(parts, of.inputs, of.labels)
    report("VOGN, sum of gradients", -first, gradients)
    report("VOGN, sum of their squares", second, squares)


def check_map(of: Data) -> None:
    """The way of some steps on all rows from one start, and SI's importance after it."""
    model, rate, steps = of.model, 0.01, 20
    start, path = 0.1 * torch.randn(model.size), torch.zeros(model.size)
    precision = torch.rand(model.size)
    state = {"mean": start.numpy()[None, None], "precision": precision.numpy()[None, None]}
    for name, (kind, penalty, of_path) in map_kinds(precision, path).items():
        settings = map.Settings(steps, len(of.labels), rate, **kind | {"start": "prior"})
        learnt, _ = map.build(settings, of.problem, model).observe(state, of.batch, KEY)
        end = start.clone()
        step = map_step(model, end, penalty, of_path, rate)
        for _ in range(steps):
            step(of.inputs, of.labels)
        report(f"{name}, way of {steps} steps", end - start, learnt["mean"] - state["mean"])
    omega = (path / ((end - start) ** 2 + settings.damping)).relu()
    report("SI, importance", 2 * omega, learnt["precision"] - state["precision"])


def map_kinds(precision: Tensor, path: Tensor) -> dict[str, tuple[dict, Tensor | None, ...]]:
    """Our settings, and what a step of PyTorch's needs."""
    flat = {"prior": "flat", "biases": "penalised"}
    ewc = flat | {"start": "prior", "units": "row", "fisher_rows": 1}
    return {
        "Adam": (flat | {"importance": "none"}, None, None),
        "online EWC": (ewc, precision, None),
        "SI": (ewc | {"importance": "path"}, precision, path),
    }


Run = Callable[[int], object]
"""1 or PASSES -> so many epochs."""


def ours(of: Data, batch_size: int, module: ModuleType, **kind) -> Run:
    """Through the learner's `observe`."""
    runs = {}
    for passes in (1, PASSES):
        settings = module.Settings(epochs=passes, batch_size=batch_size, **kind)
        learner = module.build(settings, of.problem, of.model)
        runs[passes] = partial(learner.observe, learner.init(KEY), of.batch, KEY)
    return lambda passes: runs[passes]()


def theirs(of: Data, batch_size: int, step: Step) -> Run:
    """Over shuffled rows."""

    def run(passes: int) -> None:
        for _ in range(passes):
            for rows in torch.randperm(len(of.labels)).split(batch_size):
                step(of.inputs[rows], of.labels[rows])

    return run


def cases() -> Iterator[tuple[str, Data, int, dict[str, Step], Callable[..., Run]]]:
    """Name, data, rows of a minibatch, PyTorch's steps by column, and how ours are made."""
    rows = data(mlp, (784,), 10 * 256)
    model, n, noise = rows.model, len(rows.labels), {FRESH: torch.randn, SHARED: from_table()}
    steps: dict[str, Step] = {c: vogn_step(model, n, normals) for c, normals in noise.items()}
    many = {"draws": DRAWS, "elbo_draws": 1}
    yield "VOGN, 10 draws", rows, 256, steps, partial(ours, module=vogn, **many)
    bayesian = partial(ours, module=mfvi, biases="gaussian", learning_rate=RATE)
    steps = {c: mfvi_step(model, n, partial(local, model, normals)) for c, normals in noise.items()}
    run = partial(bayesian, estimator="local", **many)
    yield "MFVI, local, 10 draws", rows, 256, steps, run
    steps = {
        c: mfvi_step(model, n, partial(sampled, model, normals)) for c, normals in noise.items()
    }
    steps[PACKAGE] = package_step(model, "Reparameterization", DRAWS, n)
    run = partial(bayesian, estimator="sample", **many)
    yield "MFVI, weights drawn, 10 draws", rows, 256, steps, run
    for name, (kind, *needed) in map_kinds(torch.rand(model.size), torch.zeros(model.size)).items():
        steps = {FRESH: map_step(model, 0.05 * torch.randn(model.size), *needed)}
        yield name, rows, 256, steps, partial(ours, module=map, **kind)
    rows = data(convnet, (32, 32, 3), 2 * 64)
    model, n = rows.model, len(rows.labels)
    steps = {FRESH: mfvi_step(model, n, partial(flipped, model))}
    steps[PACKAGE] = package_step(model, "Flipout", 1, n)
    yield "MFVI, Flipout, convnet", rows, 64, steps, partial(bayesian, elbo_draws=1)


def measured(runs: dict[str, Run], steps: int, clock: Callable[[], float]) -> dict[str, list]:
    """Milliseconds a step in each round."""

    def timed(run: Run, passes: int) -> float:
        start = clock()
        run(passes)
        return clock() - start

    for run in runs.values():
        for passes in (1, PASSES):
            run(passes)  # ours trace and compile
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            costs[name].append(1e3 * (timed(run, PASSES) - timed(run, 1)) / steps)
    return costs


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
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    print("1. Largest differences of plain PyTorch, relative to the largest entry")
    small = data(mlp, (20,), 64, hidden=(16, 12))
    check_vogn(small)
    check_map(small)
    clock, what = (time.perf_counter, "wall") if threads > 1 else (time.process_time, "processor")
    print(f"\n2. ms of {what} time a step, {threads} thread(s) of {psutil.cpu_count()}: median")
    print(f"   of {ROUNDS} rounds (least), and times ours: aim x1 of plain, x2.5 of published code")
    print(f"{'':30s}{OURS:>17s}{FRESH:>23s}{SHARED:>23s}{PACKAGE:>23s}")
    for name, of, batch_size, steps, of_ours in cases():
        runs = {OURS: of_ours(of, batch_size)}
        runs |= {column: theirs(of, batch_size, step) for column, step in steps.items()}
        counted = (PASSES - 1) * len(of.labels) // batch_size
        print(line(name, measured(runs, counted, clock)), flush=True)
    print("Published code on another machine, not comparable: notes on continual learning, 5.")


if __name__ == "__main__":
    main()
