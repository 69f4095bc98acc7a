"""Words: counting pairs in a folder of texts, and fits of word vectors."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from perf import problems
from perf.work import Work
from shiftbench.core import seeds as seeding
from shiftbench.core.interface import Batch, Problem
from shiftbench.data.text import text_files
from shiftbench.methods.learners import skipgram


def counting(years: int) -> Work:
    """Return the counting of words in a folder of texts by year, per token. Shows all counts."""

    folder = tempfile.TemporaryDirectory()  # removed together with the work
    problems.write_texts(Path(folder.name), years)
    settings = text_files.Settings(path=folder.name, words=problems.VOCABULARY, held_out=0.0)

    def store():
        return text_files.build(settings, Path(folder.name)).load()

    return Work(store, problems.tokens(years), shows=lambda: _counts(store()))


def _counts(store) -> dict[str, np.ndarray]:
    """Return the counts of all pairs per year, in both orders; the store has each pair once."""
    found = []
    for period in store["realisation-0"].children.values():
        edges, column = period["row_start"].values, period["column"].values
        word = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        twice = np.where(word == column, 1, 2)
        found.append((twice * period["count"].values).sum() / store.attrs["units"])
    return {"counts of each year": np.array(found)}


def fits(method: str, words: int, steps: int = 5000) -> Work:
    """Return fits of word vectors to pairs, by Newton steps or by the papers' Adam, per word."""
    numbers, (contexts, features) = np.random.default_rng(5), (500, 20)
    problem = Problem("word", (features,), 2, contexts, 1)
    learner = skipgram.build(skipgram.Settings(method=method, steps=steps), problem)
    inputs = numbers.normal(0, 0.5, (words, contexts, features)).astype("f4")
    targets = numbers.poisson(20.0, (words, contexts, 2)).astype("f4")
    key = seeding.block(range(words), "perf")
    batch = Batch(inputs, targets, np.ones((words, contexts), bool))
    return Work(partial(learner.observe, learner.init(key), batch, key), words)
