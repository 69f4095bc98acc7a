"""Whole periods of co-occurrence counts for a learner of single words, such as `skipgram`.

The warm-up holds the counts of all periods together: it gives the context vectors, which are
fixed from then on (li2021vbs, 4.3), and leaves the words as unknown as they were. Tasks are split
by word. Words are independent given the context vectors, and the
learner inside takes them in blocks, side by side as it would take repetitions: a `beam` inside
has its own hypotheses for each word. Negative counts follow from the positive ones
(`methods/words/cooccurrence.py`), and only those of a block are ever dense.

The context vectors depend on the counts alone, so that variants differ in what follows only.

State: those of the learner as base.*, [S, 1, W, K, ...] for its [W, K, ...]; context [S, 1, V, d].
Info: those of the learner, [S, K, W, ...], in 32 bits: slot k of the hypotheses is each word's own.
Of the warm-up: context, and pretraining_loss [S, 1] in nats per positive pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core import seeds as seeding
from shiftbench.core.interface import (
    Batch,
    Categorical,
    Info,
    Learner,
    LearnerError,
    Problem,
    State,
    mapped,
    part,
    prefixed,
)
from shiftbench.methods.words.context_vectors import pretrained
from shiftbench.methods.words.cooccurrence import Cooccurrence, blocks, cooccurrence

NEEDS: tuple[str, ...] = ()
TAKES = ("counts",)
GIVES = "word"
REQUIRES = ("warm-up",)
OFFERS = ("context",)
PASSES = ("changes", "lineage", "mean", "scratch")
WARMS = (
    "dimension",
    "negative_ratio",
    "negative_exponent",
    "pretraining_sweeps",
    "pretraining_tolerance",
)


@dataclass(frozen=True)
class Settings:
    dimension: Annotated[int, Ge(1)] = 20
    """Numbers d of a word vector (li2021vbs: 20, and 100 for Google Books)."""
    block: Annotated[int, Ge(1)] = 64
    """Words that are fitted together in a period; a beam of 8 over 10,000 is faster by 16."""
    negative_ratio: Annotated[float, Gt(0)] = 1.0
    """Negative pairs for each positive one (1 in the authors' code)."""
    negative_exponent: Annotated[float, Ge(0)] = 0.75
    """Contexts of negative pairs are drawn by their frequency to this power (0.75)."""
    pretraining_sweeps: Annotated[int, Ge(1)] = 20
    """Turns at most of words and contexts before the first period."""
    pretraining_tolerance: Annotated[float, Gt(0)] = 0.0001
    """The turns end when one improves the loss by less, in nats per positive pair."""


def inner_problem(settings: Settings, problem: Problem) -> Problem:
    """What the learner inside is told: a word's counts with contexts of known features."""
    return Problem("word", (settings.dimension,), 2, problem.n_outputs, problem.n_tasks)


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """The learner of all words of a stream of counts; LearnerError for another stream."""
    if problem.kind != "counts":
        raise LearnerError("per-word: needs a stream of counts")
    size = problem.n_outputs
    everyone = np.arange(size)

    def init(seeds: np.ndarray) -> State:
        base = _apart(learner.init(_word_seeds(seeds, everyone)), len(seeds))
        context = np.zeros((len(seeds), 1, size, settings.dimension), np.float32)
        return _pack(base, context)

    def drift(state: State, seeds: np.ndarray) -> State:
        flat = mapped(lambda a: a.reshape(-1, *a.shape[3:]), part(state, "base."))
        base = _apart(learner.drift(flat, _word_seeds(seeds, everyone)), len(seeds))
        return _pack(base, state["context"])

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        """Probabilities [S, 1, n, 2] of pairs [S, n, 2] being positive, and negative."""
        p = np.full(inputs.shape[:2], 0.5)
        for s, words, _, block in _blocks(settings, state):
            word, context = inputs[s].T
            here = np.flatnonzero((word >= words[0]) & (word <= words[-1]))
            if here.size:
                vectors = _view(state["context"][s, 0], len(words))
                found = learner.predict(block, vectors, _word_seeds(seeds[s : s + 1], words))
                mixed = np.einsum("wh,whv->wv", np.exp(found.log_weights), found[1][..., 0])
                p[s, here] = mixed[word[here] - words[0], context[here]]
        return Categorical(np.zeros((len(p), 1)), np.stack([p, 1 - p], axis=-1)[:, None])

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        return _pretrain(settings, state, _counts(settings, size, batch))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        counts = _counts(settings, size, batch)
        parts: list[tuple[State, Info]] = []
        for s, words, real, block in _blocks(settings, state):
            data = _word_batch(state["context"][s, 0], counts[s], words, real)
            word_seeds = _word_seeds(seeds[s : s + 1], words)
            found = learner.observe(block, data, word_seeds)
            parts.append(tuple(mapped(lambda a, r=real: a[r], arrays) for arrays in found))
        base, info = (_apart(_joined(arrays), len(seeds)) for arrays in zip(*parts, strict=True))
        return _pack(base, state["context"]), mapped(_for_the_store, info)

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def _pretrain(settings: Settings, state: State, counts: list[Cooccurrence]) -> tuple[State, Info]:
    """The state with context vectors, learnt for each repetition alone."""
    found = [
        pretrained(
            one,
            settings.dimension,
            seeding.generator(seeding.fold("context vectors")),
            settings.pretraining_sweeps,
            settings.pretraining_tolerance,
        )
        for one in counts
    ]
    context = np.stack([vectors for vectors, _ in found])[:, None]
    loss = np.array([[losses[-1]] for _, losses in found])
    return _pack(part(state, "base."), context), {"pretraining_loss": loss, "context": context}


def _counts(settings: Settings, size: int, batch: Batch) -> list[Cooccurrence]:
    """The counts of each repetition."""
    ratio, exponent = settings.negative_ratio, settings.negative_exponent
    return [
        cooccurrence(inputs[mask], targets[mask, 0], size, ratio, exponent)
        for inputs, targets, mask in zip(*batch, strict=True)
    ]


def _blocks(
    settings: Settings, state: State
) -> Iterator[tuple[int, np.ndarray, np.ndarray, State]]:
    """(repetition, words [B], which of them are real [B], their states) for all words."""
    base = part(state, "base.")
    for s, vectors in enumerate(state["context"]):
        for words, real in blocks(vectors.shape[1], settings.block):
            yield s, words, real, mapped(lambda a, s=s, w=words: a[s, 0, w], base)


def _word_batch(
    vectors: np.ndarray, counts: Cooccurrence, words: np.ndarray, real: np.ndarray
) -> Batch:
    """The counts of some words with all contexts, dense."""
    mask = np.broadcast_to(real[:, None], (len(words), len(vectors)))
    return Batch(_view(vectors, len(words)), counts.dense(words), mask)


def _view(vectors: np.ndarray, words: int) -> np.ndarray:
    """Context vectors [words, V, d] of each word: the same ones, without a copy."""
    return np.broadcast_to(vectors, (words, *vectors.shape))


def _word_seeds(seeds: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Seeds [S len(words), 2], repetition by repetition."""
    each = [seeding.fold_each(seeds, "word", int(word)) for word in words]
    return np.stack(each, axis=1).reshape(-1, 2)


def _apart(words: State, repetitions: int) -> State:
    """Arrays [S W, ...] as [S, 1, W, ...]."""
    return mapped(lambda a: a.reshape(repetitions, 1, -1, *a.shape[1:]), words)


def _joined(parts: tuple[State, ...]) -> State:
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def _for_the_store(array: np.ndarray) -> np.ndarray:
    """[S, 1, W, K, ...] as [S, K, W, ...] in 32 bits: there is one for each word and period."""
    return array[:, 0].swapaxes(1, 2).astype(np.float32 if array.dtype.kind == "f" else np.int32)


def _pack(base: State, context: np.ndarray) -> State:
    return {"context": context} | prefixed(base, "base.")
