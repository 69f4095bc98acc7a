"""Cost of run lengths over Bayesian linear regression beside the changepoint packages on PyPI.

make peers && .venv-peers/bin/python benchmarks/changepoints.py [--plot PATH], on a quiet
machine, with SHIFTBENCH_MIRROR where raw data come from a mirror. Minutes; processor time,
rounds alternate. The series is the well-log, less its mean, with the settings of
knoblauch2018robust: hazard 1/100, 50 run lengths, d = p = 1. Without its file it is a simulated
one, and says so.

1. Milliseconds an observation of each variant, all rows in one call and one row a call.
   `observe` alone: it births the fresh run lengths and weighs all, which is what the others'
   updates do; the harness also asks for a prediction.
2. The others' beside ours over the first T rows. They keep all run lengths, with the same
   prior as `standard`, so their last posterior is compared with ours first. changepoint takes
   one row a call, bayesian-changepoint-detection all; ours are there both ways.
3. Ours as T grows to 100,000 rows, in blocks: time, size of the state, memory of the process.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bayesian_changepoint_detection as kulick
import changepoint as redpoll
import numpy as np
import psutil

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Learner, Problem
from shiftbench.data.series import series
from shiftbench.data.store import raw
from shiftbench.evaluation import figure_style
from shiftbench.methods.combinators import run_length
from shiftbench.methods.learners import bayes_linear

KEEP, HAZARD, A0, B0, VARIANCE = 50, 1 / 100, 1.0, 1e4, 0.25
ROUNDS, SLICE, LENGTHS = 5, 1000, (500, 1000, 2000, 4000)
STANDARD, RLM, FULL = "standard", "run-length-robust", "robust, full fits"
SVRG = "robust, SVRG"
# Settings and the most milliseconds an observation that we accept, all rows in a call.
OURS: dict[str, tuple[dict, str]] = {
    STANDARD: ({"b0": B0}, "target .03"),
    RLM: ({"b0": 1e7, "beta_rlm": 0.15}, "target .06"),
    FULL: ({"b0": 1e7, "beta_rlm": 0.15, "beta_p": 0.05}, "target 4"),
    SVRG: ({"b0": 1e7, "beta_rlm": 0.15, "beta_p": 0.05, "optimiser": "svrg"}, "no target"),
}
# Blocks of section 3: rows a block, and blocks.
BLOCKS = {STANDARD: (10_000, 10), RLM: (10_000, 10), FULL: (2_000, 10)}
PASSES = 3
SEEDS = np.zeros((1, 2), int)

Curves = dict[str, dict[int, float]]
"""Name -> {rows: figure}."""


def well_log() -> tuple[str, np.ndarray]:
    """What the series is, and its values [T]."""
    settings = series.Settings("well-log", 1, "constant", centre="whole-series")
    try:
        with tempfile.TemporaryDirectory() as folder:
            raw.fetch("well-log", "well.txt", Path(folder) / "well.txt")
            return "well-log", series.build(settings, Path(folder))["value"].values[0, :, 0]
    except UserError as error:
        print(f"Simulated level changes in place of the well-log: {error}")
        return "simulated level changes", levels(4050)


def levels(rows: int) -> np.ndarray:
    """Gaussian level changes [rows] of the well-log's size, a segment 300 rows on average."""
    draws = seeds.generator(seeds.fold("benchmarks", "changepoints"))
    segment = np.cumsum(draws.random(rows) < 1 / 300)
    return draws.normal(0, 1e4, segment[-1] + 1)[segment] + draws.normal(0, 2.5e3, rows)


def learner(name: str, keep: int = KEEP) -> Learner:
    """One of ours."""
    problem = Problem("regression", (1, 1, 1), 1, 1, 1)
    settings = bayes_linear.Settings(a0=A0, prior_variance=VARIANCE, window=360, **OURS[name][0])
    return run_length.build(
        run_length.Settings(HAZARD, keep), problem, bayes_linear.build(settings, problem)
    )


def batches(values: np.ndarray, rows: int) -> list[Batch]:
    """The values, `rows` in a batch, with a constant for a regressor."""
    return [
        Batch(np.ones((1, len(y), 1, 1, 1)), y.reshape(1, -1, 1), np.ones((1, len(y)), bool))
        for y in np.split(values, range(rows, len(values), rows))
    ]


def ours(name: str, values: np.ndarray, rows: int, keep: int = KEEP) -> Callable[[], np.ndarray]:
    """A pass over the values, `rows` a call; gives P(run length after the last one), [T]."""
    of_learner, parts = learner(name, keep), batches(values, rows)

    def run() -> np.ndarray:
        state = of_learner.init(SEEDS)
        for part in parts:
            state, info = of_learner.observe(state, part, SEEDS)
        length, log_weight = info["run_length"][0], info["log_weight"][0]
        kept, posterior = np.isfinite(log_weight), np.zeros(len(values))  # other slots are empty
        posterior[length[kept]] = np.exp(log_weight[kept])
        return posterior

    return run


def with_redpoll(values: np.ndarray) -> np.ndarray:
    """changepoint: Rust; a step returns the whole posterior, and takes no bound on it."""
    detector = redpoll.Bocpd(redpoll.NormalInvGamma(0.0, VARIANCE, A0, B0), 1 / HAZARD)
    for value in values:
        posterior = detector.step(value)
    return np.array(posterior)


def with_kulick(values: np.ndarray) -> np.ndarray:
    """bayesian-changepoint-detection: NumPy; takes all rows at once, keeps a matrix of T x T."""
    from bayesian_changepoint_detection import online_changepoint_detection as module

    hazard = functools.partial(module.constant_hazard, 1 / HAZARD)
    likelihood = module.StudentT(A0, B0, 1 / VARIANCE, 0.0)
    return module.online_changepoint_detection(values, hazard, likelihood)[0][:, -1]


def with_kulick_torch(longest: int | None, values: np.ndarray) -> np.ndarray:
    """bayesian-changepoint: PyTorch; run lengths up to `longest`, or all."""
    from bayesian_changepoint_detection import hazard_functions, online_likelihoods

    hazard = functools.partial(hazard_functions.constant_hazard, 1 / HAZARD)
    likelihood = online_likelihoods.StudentT(A0, B0, 1 / VARIANCE, 0.0, device="cpu")
    detector = kulick.OnlineChangepointDetector(hazard, likelihood, longest)
    for value in values:
        posterior = detector.update(float(value))
    return posterior.numpy().astype(float)


def peers() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """The others: values -> posterior of the run length, from 0 (a change after the last)."""
    found = {"changepoint": with_redpoll}
    # Two packages have this one module. The newer is no part of `make peers`: PyTorch is huge.
    if hasattr(kulick, "OnlineChangepointDetector"):
        found["bayesian-changepoint"] = functools.partial(with_kulick_torch, None)
        found["bayesian-changepoint, to 500"] = functools.partial(with_kulick_torch, 500)
    else:
        found["bayesian-changepoint-detection"] = with_kulick
    return found


def timed(run: Callable[[], object]) -> float:
    """Processor seconds."""
    start = time.process_time()
    run()
    return time.process_time() - start


def alternating(runs: dict[str, tuple[Callable[[], object], int]]) -> dict[str, list[float]]:
    """Milliseconds an observation in each round; runs: what to call, and its observations."""
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (run, rows) in runs.items():
            costs[name].append(1e3 * timed(run) / rows)
    return costs


def load() -> str:
    return f"load {psutil.getloadavg()[0]:.2f} on {psutil.cpu_count()} processors"


def variants(values: np.ndarray) -> None:
    """Section 1."""
    print(f"\n1. ms an observation, {KEEP} run lengths; median and least of {ROUNDS}; {load()}")
    runs = {}
    for name, (_, target) in OURS.items():
        slow = name in (FULL, SVRG)
        for a_call in (len(values), 1):
            rows = SLICE if slow and a_call == 1 else len(values)
            how = f"one call ({target})" if a_call > 1 else "one row a call"
            runs[f"{name:18s} {rows:5,d} rows, {how}"] = ours(name, values[:rows], a_call), rows
    for name in OURS:
        ours(name, values[:20], 20)()  # compiles, or loads what was compiled
    for name, of_rounds in alternating(runs).items():
        print(f"{name:53s} {statistics.median(of_rounds):8.4f} ({min(of_rounds):.4f})")


def check(values: np.ndarray) -> None:
    """Whether the others' last posteriors are ours: half the sum of absolute differences."""
    rows = len(values)
    exact, kept = (ours(STANDARD, values, rows, keep)() for keep in (rows, KEEP))
    apart = 0.5 * np.abs(kept - exact).sum()
    print(f"   {STANDARD}, {KEEP} kept: posterior after {rows} rows is {apart:.0e} from all kept")
    for name, run in peers().items():
        # A run length of 0 is a change after the last value, which ours do not count. changepoint
        # counts the first segment, and it alone, one short; by now no weight is left on it.
        theirs = run(values)[1 : rows + 1]
        theirs = np.pad(theirs / theirs.sum(), (0, rows - len(theirs)))
        apart = 0.5 * np.abs(theirs - exact).sum()
        print(f"   {name}: posterior is {apart:.0e} from ours, all kept")


def beside(values: np.ndarray) -> Curves:
    """Section 2; medians."""
    print(f"\n2. ms an observation, mean over the first T rows; median (least); {load()}")
    check(values[: LENGTHS[-1]])
    runs = {}
    for rows in LENGTHS:
        first = values[:rows]
        for name, run in peers().items():
            runs[name, rows] = functools.partial(run, first), rows
        runs[f"{STANDARD}, one row a call", rows] = ours(STANDARD, first, 1), rows
        for name in (STANDARD, RLM):
            runs[name, rows] = ours(name, first, rows), rows
    curves: Curves = {name: {} for name, _ in runs}
    costs = alternating(runs)
    print(f"{'T':32s}" + "".join(f"{rows:19,d}" for rows in LENGTHS))
    for name, curve in curves.items():
        line = f"{name:32s}"
        for rows in LENGTHS:
            curve[rows] = statistics.median(costs[name, rows])
            line += f"{curve[rows]:10.4f} ({min(costs[name, rows]):6.4f})"
        print(line)
    return curves


def one_pass(name: str, values: np.ndarray) -> list[tuple[int, float, int, float]]:
    """After each block: T, ms an observation in it, bytes of our state, MiB of the process."""
    rows, blocks = BLOCKS[name]
    of_learner = learner(name)
    state, found = of_learner.init(SEEDS), []
    for number, part in enumerate(batches(values[: rows * blocks], rows), 1):
        start = time.process_time()
        state, _ = of_learner.observe(state, part, SEEDS)
        cost = 1e3 * (time.process_time() - start) / rows
        size = sum(array.nbytes for array in state.values())
        found.append((number * rows, cost, size, psutil.Process().memory_info().rss / 2**20))
    return found


def growing(values: np.ndarray) -> tuple[Curves, Curves]:
    """Section 3: median cost of each block, bytes of the state after it."""
    print(f"\n3. Simulated level changes, a block a call; medians of {PASSES} passes; {load()}")
    passes = [{name: one_pass(name, values) for name in BLOCKS} for _ in range(PASSES)]
    costs: Curves = {name: {} for name in BLOCKS}
    sizes: Curves = {name: {} for name in BLOCKS}
    for name in BLOCKS:
        print(f"{name}: T, ms an observation in the block (least), bytes of state, MiB of process")
        for of_block in zip(*(found[name] for found in passes), strict=True):
            rows, _, size, memory = of_block[-1]
            of_passes = [cost for _, cost, _, _ in of_block]
            costs[name][rows], sizes[name][rows] = statistics.median(of_passes), size
            cost = f"{costs[name][rows]:8.4f} ({min(of_passes):.4f})"
            print(f"  {rows:8,d} {cost} {size:10,d} {memory:6.0f}")
    return costs, sizes


@figure_style.styled
def plot(path: Path, what: str, beside: Curves, costs: Curves, sizes: Curves) -> None:
    """Cost of all and size of our state against T, as PATH.svg and PATH.png."""
    foot = (
        f"Processor time. Solid: {what}, mean over the first T rows, ours in one call unless said"
        " otherwise. Dashed: simulated level changes, mean over the block that ends at T."
    )
    drawn = figure_style.figure(4.2, foot)
    cost, size = drawn.subplots(1, 2, width_ratios=(3, 2))
    names = list(dict.fromkeys([*beside, *costs]))
    looks = dict(
        zip(names, zip(figure_style.PALETTE, figure_style.MARKERS, strict=False), strict=False)
    )
    for axes, curves, line in ((cost, beside, "-"), (cost, costs, "--"), (size, sizes, "--")):
        for name, curve in curves.items():
            colour, marker = looks[name]
            twice = axes is cost and curves is costs and name in beside
            label = name if name in peers() else f"ours, {name}"
            axes.plot(
                *zip(*curve.items(), strict=True), line,
                color=colour, marker=marker, ms=4, label=None if twice else label,
            )  # fmt: skip
    figure_style.set_title(cost, "a", "Cost of an observation")
    figure_style.set_title(size, "b", f"Size of our state, {KEEP} run lengths")
    cost.set(ylabel="ms an observation", ylim=(0.005, 10))  # room for the legend
    size.set(ylabel="bytes", ylim=(1e3, 1e7))
    for axes in (cost, size):
        axes.set(xscale="log", yscale="log", xlabel="observations T")
        axes.legend(loc="upper left", ncols=2 if axes is cost else 1)
    cost.yaxis.set_major_formatter("{x:g}")
    for axis in (cost.xaxis, size.xaxis, size.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    figure_style.save(drawn, path.with_suffix(""))


def main() -> None:
    """Prints the three sections; draws the last two where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, metavar="PATH", help="write PATH.svg and PATH.png")
    asked = parser.parse_args()
    what, values = well_log()
    print(f"{what}, {len(values)} values; {load()}")
    variants(values)
    curves = beside(values)
    costs, sizes = growing(levels(100_000))
    if asked.plot:
        plot(asked.plot, what, curves, costs, sizes)


if __name__ == "__main__":
    main()
