"""Sizes of a stream from its settings and the table of data sets, without building it."""

from __future__ import annotations

import math
from typing import NamedTuple

from shiftbench.config import components
from shiftbench.config.spec_files import Spec
from shiftbench.data.store import raw

UNKNOWN = (1000, 10, 1)
"""Training rows, inputs and outputs if neither settings nor the table of data sets have them."""
PERIODS, WORDS = 50, 2000
"""Periods and words of texts if settings do not have them."""
BLOCK, CONTEXTS, DIMENSIONS = 64, 100, 20
"""Words that are fitted at once, contexts of each word, and the dimension of its vector."""
LARGEST = 10_000
"""The largest vocabulary with recorded costs. In larger ones, words have more contexts."""


class Sizes(NamedTuple):
    """The sizes of a stream, or of the problem inside a combinator, which decide a cost.

    rows, tests: training and test rows of a task. before: rows before the stream. at_once,
    in_turn: learners that are updated side by side, and one after the other.
    """

    tasks: int
    rows: int
    tests: int
    before: int
    inputs: int
    outputs: int
    at_once: int = 1
    in_turn: int = 1

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the inputs as a square image."""
        # Three channels if a third of the inputs is a square number. Then the number of inputs is
        # not a square itself, because the square root of 3 is irrational.
        channels = 3 if 3 * math.isqrt(self.inputs // 3) ** 2 == self.inputs else 1
        side = math.isqrt(self.inputs // channels)
        return side, side, channels

    def repeated(self, number: int, in_turn: bool = False) -> Sizes:
        """Return the same problem for several learners."""
        if in_turn:
            return self._replace(in_turn=self.in_turn * number)
        return self._replace(at_once=self.at_once * number)


def of_stream(source: Spec) -> Sizes:
    """Return the sizes of a stream, from its settings, or else those of its data set."""
    given = source["settings"]
    if "window" in given or "vocabulary_size" in given:
        return _of_words(given)
    dataset = raw.table().get(given.get("dataset", ""))
    sizes = dataset.sizes if dataset and dataset.sizes else UNKNOWN
    rows, inputs, outputs = (given[size] if isinstance(size, str) else size for size in sizes)
    if dataset and "size" in given:  # of square photographs
        inputs = 3 * given["size"] ** 2
    rows = given.get("rows") or rows
    if "one-row" in components.facts("streams", source["family"]).possible("gives"):
        tasks = given.get("points") or rows
        return Sizes(tasks, given.get("rows_per_task", 1), 0, 0, inputs, outputs)
    share = given.get("classes_per_task", outputs) / outputs  # of the data set, in one task
    tasks = given.get("tasks") or given.get("periods") or given.get("repeats") or round(1 / share)
    per_task = given.get("train_per_task") or given.get("images") or given.get("documents")
    per_task = per_task or round(rows * share)
    before = (given.get("warm_up_size") or rows) if given.get("warm_up") else 0
    return Sizes(tasks, per_task, given.get("test_size", 0), before, inputs, outputs)


def _of_words(given: Spec) -> Sizes:
    """Return the sizes of texts, where a task is a block of words in a period."""
    planted = given.get("themes", 0) * given.get("words_per_theme", 0) + given.get(
        "common_words", 0
    )
    years = given.get("last_year", 0) - given.get("first_year", 0) + 1
    known = given.get("periods") or (years if years > 1 else PERIODS)
    periods = max(1, known // given.get("period_years", 1))
    words = given.get("vocabulary_size") or planted or WORDS
    blocks = math.ceil(math.ceil(words / BLOCK) * max(1, words / LARGEST))
    return Sizes(periods * blocks, BLOCK * CONTEXTS, 0, 0, DIMENSIONS, 1)
