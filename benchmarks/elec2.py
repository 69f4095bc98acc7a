"""Elec2 by exact linear regression: ours beside what the authors' code of li2021vbs gives.

SHIFTBENCH_MIRROR=FOLDER python -m benchmarks.elec2 [--rows N], where FOLDER/elec2 has
electricity-normalized.csv.xz; about three minutes. Not among the streams: this is a check of the
beam, of `forget` and of `run-length` on a real stream of 41,263 tasks of one row.

The stream is that of the paper's later version (NeurIPS 2021) and its public code
(mandt-lab/variational-beam-search, real_data): the target is the share of the 48 half-hours before
in which the price was lower, as log-odds, -4 and 4 at its ends; features are the weekday, the
time, the date, the five numbers of the file, and a constant; 49 + 4,000 rows are left out. Noise
variance .01, prior N(0, I). A row is learnt, the next one predicted, and only then broadened:
`drift: after-prediction`. The score is the mean over time of the mean absolute error so far, of
the most likely hypothesis, on the scale of the share.

Where ours differ from that code: after each row it adds 1e-6 to the precision of every coefficient,
without which tempering winds up what no row shows; the beams here have temper-prior with a prior of
variance 1e6, which adds as much at each broadening. It takes a row's evidence after the row was
learnt, so that it counts twice; here it counts once. Its hazard of .9 acts as .9 / 1.9, since the
share of those that go on is taken off before the new run gets its own.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from shiftbench import seeds
from shiftbench.combinators import beam, forget, reset, run_length
from shiftbench.interface import Batch, Learner, Problem
from shiftbench.learners import linear_gaussian

FILE = Path("elec2", "electricity-normalized.csv.xz")
WINDOW, LEFT_OUT, EXTREME = 48, 49 + 4000, 4.0
FEATURES = 14
PROBLEM = Problem("regression", (FEATURES,), 1, 1, 45_312 - LEFT_OUT)
KEY = seeds.block([0], "elec2")
SEEN = np.ones((1, 1), bool)

AUTHORS = {
    "plain": 0.1659,
    "independent": 0.1248,
    "forget, geometric .98": 0.1337,
    "run-length, 6": 0.1255,
    "beam, K = 1": 0.0727,
}
"""What the authors' code prints; it was not run with K = 6."""


class Stream(NamedTuple):
    """features [row, 14]; log_odds and share [row], the target as it is learnt and judged."""

    features: np.ndarray
    log_odds: np.ndarray
    share: np.ndarray


def stream(mirror: Path) -> Stream:
    """The tasks from the file of a mirror."""
    table = pd.read_csv(mirror / FILE)
    price = table["nswprice"].to_numpy()
    before = np.lib.stride_tricks.sliding_window_view(price, WINDOW)[:-1]
    share = np.append(np.zeros(WINDOW), (before < price[WINDOW:, None]).mean(axis=1))
    with np.errstate(divide="ignore"):
        log_odds = np.clip(np.log(share) - np.log1p(-share), -EXTREME, EXTREME)
    weekday = np.eye(7)[table["day"].to_numpy() - 1]
    others = ["period", "date", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    features = np.hstack([weekday, table[others].to_numpy()])
    return Stream(*(array[LEFT_OUT:] for array in (features, log_odds, share)))


def learners() -> dict[str, Learner]:
    """Ours by name."""

    def regression(prior_variance: float = 1.0) -> Learner:
        made = linear_gaussian.Settings(noise_sd=0.1, prior_variance=prior_variance)
        return linear_gaussian.build(made, PROBLEM)

    def beam_of(size: int) -> Learner:
        made = beam.Settings(size=size, broadening="temper-prior", beta=1 / 1.2)
        return beam.build(made, PROBLEM, regression(prior_variance=1e6))

    always = forget.Settings(broadening="geometric", beta=0.98)
    lengths = run_length.Settings(hazard=0.9 / 1.9, keep=6)
    return {
        "plain": regression(),
        "independent": reset.build(reset.Settings(), PROBLEM, regression()),
        "forget, geometric .98": forget.build(always, PROBLEM, regression()),
        "run-length, 6": run_length.build(lengths, PROBLEM, regression()),
        "beam, K = 1": beam_of(1),
        "beam, K = 6": beam_of(6),
    }


def errors(learner: Learner, data: Stream) -> np.ndarray:
    """Absolute errors [row - 1] of the most likely hypothesis, predicted from the rows before."""
    state, predicted = learner.init(KEY), np.full(len(data.share), np.nan)
    for t in range(len(predicted)):
        inputs, target = data.features[None, t : t + 1], data.log_odds[None, t : t + 1, None]
        if t:
            found = learner.predict(state, inputs, KEY)
            predicted[t] = found.mean[0, found.log_weights[0].argmax(), 0, 0]
        state, _ = learner.observe(learner.drift(state, KEY), Batch(inputs, target, SEEN), KEY)
    return np.abs(1 / (1 + np.exp(-predicted)) - data.share)[1:]


def main() -> None:
    """Prints one line a learner: ours, the authors', and the processor time of ours."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="the first rows alone; then ours only")
    rows = parser.parse_args().rows
    data = Stream(*(array[:rows] for array in stream(Path(os.environ["SHIFTBENCH_MIRROR"]))))
    print(f"{len(data.share):,} tasks")
    print(f"{'':24s}{'ours':>8s}{'authors':>9s}{'seconds':>9s}")
    for name, learner in learners().items():
        begun = time.process_time()
        so_far = pd.Series(errors(learner, data)).expanding().mean()
        theirs = f"{AUTHORS[name]:.4f}" if name in AUTHORS and rows is None else "-"
        print(f"{name:24s}{so_far.mean():8.4f}{theirs:>9s}{time.process_time() - begun:9.1f}")


if __name__ == "__main__":
    main()
