"""Networks and data of the comparisons, made in each process with NumPy alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

RATE = 1e-3
DAMPING = 0.1
"""The damping of synaptic intelligence."""
KL_WEIGHT, START_SD = 0.005, 0.0486
STEPS = 10
"""The number of steps after which both sides are compared."""
# Settings of run lengths of knoblauch2018robust on the well-log.
HAZARD, A0, B0, VARIANCE = 1 / 100, 1.0, 1e4, 0.25
DOCUMENTS, LENGTH = 20, 2000
"""The number of texts per year, and of tokens per text."""
VOCABULARY = tuple(f"w{number}" for number in range(1000))
"""The words that are counted; the texts have twice as many."""
SURE = 1e6
"""A precision per example at which IVON's draws do not matter."""
NEARLY_NONE = 1e-6
"""An sd of weights at which draws do not matter, so that both sides agree."""


class Layer(NamedTuple):
    """A layer in our order; a convolution's fan_in counts all nine places."""

    name: str
    fan_in: int
    fan_out: int


class Case(NamedTuple):
    """A network, its data and its training.

    hidden: units of each layer; None for the convnet of li2021vbs, Table 2. hypotheses: the number
    of networks per seed, which share their data.
    """

    inputs: tuple[int, ...]
    hidden: tuple[int, ...] | None
    rows: int
    batch: int
    seeds: int = 1
    hypotheses: int = 1
    draws: int = 1

    @property
    def layers(self) -> tuple[Layer, ...]:
        if self.hidden is None:
            convolutions = ((3, 32), (32, 32), (32, 64), (64, 64))
            found = [Layer(f"conv{i}", 9 * a, b) for i, (a, b) in enumerate(convolutions)]
            return (*found, Layer("dense", 64 * self.inputs[0] * self.inputs[1] // 16, 10))
        sizes = (*self.inputs, *self.hidden, 10)
        return tuple(Layer(f"dense{i}", *sizes[i : i + 2]) for i in range(len(sizes) - 1))

    @property
    def size(self) -> int:
        return sum((layer.fan_in + 1) * layer.fan_out for layer in self.layers)


VCL = Case((64,), (50,), 50, 50, seeds=10)
VBS = VCL._replace(hypotheses=6)
WIDE = Case((784,), (100, 100), 2560, 256)
MANY_DRAWS = WIDE._replace(draws=10)
CONVNET = Case((32, 32, 3), None, 128, 64)


def small(case: Case) -> Case:
    """Return the case with few units and one minibatch of all rows, to compare results."""
    inputs = case.inputs if case.hidden is None else (20,)
    hidden = None if case.hidden is None else (16, 12)[: len(case.hidden)]
    return case._replace(inputs=inputs, hidden=hidden, rows=64, batch=64)


def rows_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs [seed, n, *inputs] and labels [seed, n]."""
    numbers = np.random.default_rng(0)
    inputs = numbers.random((case.seeds, case.rows, *case.inputs), np.float32)
    return inputs, numbers.integers(0, 10, (case.seeds, case.rows))


def start_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return initial parameters [seed, hypothesis, P], and precisions of a penalty around them."""
    numbers, shape = np.random.default_rng(1), (case.seeds, case.hypotheses, case.size)
    return numbers.normal(0, 0.1, shape).astype("f4"), numbers.random(shape, "f4")


def level_changes(rows: int) -> np.ndarray:
    """Return values [rows] with Gaussian level changes, of the well-log's scale.

    Segments have 300 rows on average.
    """
    numbers = np.random.default_rng(2)
    segment = np.cumsum(numbers.random(rows) < 1 / 300)
    return numbers.normal(0, 1e4, segment[-1] + 1)[segment] + numbers.normal(0, 2.5e3, rows)


def regression(rows: int, features: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs [n, features] and targets [n] of a linear regression with noise sd .1."""
    numbers = np.random.default_rng(3)
    inputs = numbers.normal(size=(rows, features))
    weights = numbers.normal(size=features)
    return inputs, inputs @ weights + numbers.normal(0, 0.1, rows)


def classes(rows: int = 569, features: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Return z-scored inputs [n, features] and labels [n], 0 or 1, of the size of breast cancer."""
    numbers = np.random.default_rng(4)
    inputs = numbers.normal(size=(rows, features))
    score = inputs @ numbers.normal(size=features) / features**0.5
    return inputs, (score + numbers.normal(0, 0.5, rows) > 0).astype(int)


def watched(rows: int, errors: bool = False) -> np.ndarray:
    """Return values [rows] whose level, or error rate, changes every 500 rows on average."""
    numbers = np.random.default_rng(5)
    segment = np.cumsum(numbers.random(rows) < 1 / 500)
    level, noise = numbers.uniform(0.05, 0.8, segment[-1] + 1)[segment], numbers.random(rows)
    return (noise < level) * 1.0 if errors else 5 * level + noise


def tokens(years: int) -> int:
    """Return the number of tokens in the texts."""
    return years * DOCUMENTS * LENGTH


def write_texts(folder: Path, years: int) -> None:
    """Write texts of words with Zipf frequencies, as YEAR_NUMBER.txt."""
    numbers, words = np.random.default_rng(6), 2 * len(VOCABULARY)
    share = 1 / np.arange(1, words + 1)
    for year in range(1970, 1970 + years):
        for document in range(DOCUMENTS):
            drawn = numbers.choice(words, LENGTH, p=share / share.sum())
            text = " ".join(f"w{number}" for number in drawn)
            Path(folder, f"{year}_{document}.txt").write_text(text)
