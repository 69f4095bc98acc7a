"""Learning of all words of a period by a learner of single words, such as `skipgram`.

The warm-up holds the counts of all periods together. It gives the context vectors, which are fixed
from then on (li2021vbs, 4.3), and leaves the words' own posteriors unchanged. Each later task is
split by word: given the context vectors, words are independent. The learner inside takes words in
blocks, in place of repetitions, so that a `beam` inside has hypotheses of its own for each word.
Negative counts follow from the positive ones (`words/cooccurrence.py`); only those of one block
exist as a dense array. Knows: the counts of all periods together, for the context vectors.

Context vectors depend on the counts alone, so methods that differ in other settings share them.

State: the learner's as base.*, [S, 1, W, K, ...] for its [W, K, ...]; context [S, 1, V, d].
Info: the learner's, [S, K, W, ...], in 32 bits, where slot k is the k-th hypothesis of each word.
The warm-up's info: context, and pretraining_loss [S, 1] in nats per positive pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shiftbench.core import seeds as seeding
from shiftbench.core.facts import Facts
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

FACTS = Facts(
    takes=("counts",),
    gives="word",
    offers=("context",),
    requires=("warm-up",),
    passes=("changes", "lineage", "mean", "scratch"),
    warms=(
        "dimension",
        "negative_ratio",
        "negative_exponent",
        "pretraining_sweeps",
        "pretraining_tolerance",
    ),
)


@dataclass(frozen=True)
class Settings:
    dimension: Annotated[int, Ge(1)] = 20
    """Dimension d of a word vector (li2021vbs: 20; Google Books: 100)."""
    block: Annotated[int, Ge(1)] = 64
    """Number of words that are fitted together; a beam of 8 over 10,000 words is faster with 16."""
    negative_ratio: Annotated[float, Gt(0)] = 1.0
    """Number of negative pairs for each positive one (authors' code: 1)."""
    negative_exponent: Annotated[float, Ge(0)] = 0.75
    """Power of the contexts' frequencies that negative pairs are drawn with."""
    pretraining_sweeps: Annotated[int, Ge(1)] = 20
    """Pretraining: largest number of sweeps over words and contexts."""
    pretraining_tolerance: Annotated[float, Gt(0)] = 0.0001
    """Pretraining ends after a sweep with a smaller gain, in nats per positive pair."""


def inner_problem(settings: Settings, problem: Problem) -> Problem:
    """Return the problem of the learner inside: one word's counts with contexts as features."""
    return Problem("word", (settings.dimension,), 2, problem.n_outputs, problem.n_tasks)


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build the learner of all words of a stream of counts; LearnerError for other streams."""
    if problem.kind != "counts":
        raise LearnerError("per-word: needs a stream of counts")
    size = problem.n_outputs
    vocabulary = np.arange(size)

    def init(seeds: np.ndarray) -> State:
        base = _by_repetition(learner.init(_word_seeds(seeds, vocabulary)), len(seeds))
        context = np.zeros((len(seeds), 1, size, settings.dimension), np.float32)
        return _pack(base, context)

    def drift(state: State, seeds: np.ndarray) -> State:
        words = mapped(lambda a: a.reshape(-1, *a.shape[3:]), part(state, "base."))
        words = learner.drift(words, _word_seeds(seeds, vocabulary))
        return _pack(_by_repetition(words, len(seeds)), state["context"])

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Categorical:
        """Return the probabilities [S, 1, n, 2] that pairs [S, n, 2] are positive, and negative."""
        p = np.full(inputs.shape[:2], 0.5)
        for s, words, _, block in _blocks(settings, state):
            word, context = inputs[s].T
            pairs = np.flatnonzero((word >= words[0]) & (word <= words[-1]))
            if pairs.size:
                vectors = _broadcast(state["context"][s, 0], len(words))
                predictive = learner.predict(block, vectors, _word_seeds(seeds[s : s + 1], words))
                weights = np.exp(predictive.log_weights)
                p_positive = np.einsum("wh,whv->wv", weights, predictive[1][..., 0])
                p[s, pairs] = p_positive[word[pairs] - words[0], context[pairs]]
        return Categorical(np.zeros((len(p), 1)), np.stack([p, 1 - p], axis=-1)[:, None])

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        return _pretrain(settings, state, _counts(settings, size, batch))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        counts = _counts(settings, size, batch)
        states, infos = list[State](), list[Info]()
        for s, words, is_word, block in _blocks(settings, state):
            data = _word_batch(state["context"][s, 0], counts[s], words, is_word)
            after, info = learner.observe(block, data, _word_seeds(seeds[s : s + 1], words))
            states.append({name: a[is_word] for name, a in after.items()})
            infos.append({name: a[is_word] for name, a in info.items()})
        base, info = (_by_repetition(_concatenate(a), len(seeds)) for a in (states, infos))
        return _pack(base, state["context"]), mapped(_compact, info)

    return Learner(init, predict, observe, drift=drift, warm_up=warm_up)


def _pretrain(settings: Settings, state: State, counts: list[Cooccurrence]) -> tuple[State, Info]:
    """Learn the context vectors of each repetition; return the state with them, and the Info."""
    results = [
        pretrained(
            repetition,
            settings.dimension,
            seeding.generator(seeding.fold("context vectors")),
            settings.pretraining_sweeps,
            settings.pretraining_tolerance,
        )
        for repetition in counts
    ]
    context = np.stack([vectors for vectors, _ in results])[:, None]
    loss = np.array([[losses[-1]] for _, losses in results])
    return _pack(part(state, "base."), context), {"pretraining_loss": loss, "context": context}


def _counts(settings: Settings, size: int, batch: Batch) -> list[Cooccurrence]:
    """Return the co-occurrence counts of each repetition."""
    ratio, exponent = settings.negative_ratio, settings.negative_exponent
    return [
        cooccurrence(inputs[mask], targets[mask, 0], size, ratio, exponent)
        for inputs, targets, mask in zip(*batch, strict=True)
    ]


def _blocks(
    settings: Settings, state: State
) -> Iterator[tuple[int, np.ndarray, np.ndarray, State]]:
    """Yield (repetition, words [B], is_word [B], state of the words); the last block is padded."""
    base = part(state, "base.")
    for s, vectors in enumerate(state["context"]):
        for words, is_word in blocks(vectors.shape[1], settings.block):
            yield s, words, is_word, {name: a[s, 0, words] for name, a in base.items()}


def _word_batch(
    vectors: np.ndarray, counts: Cooccurrence, words: np.ndarray, is_word: np.ndarray
) -> Batch:
    """Return the dense counts of a block of words with all contexts."""
    mask = np.broadcast_to(is_word[:, None], (len(words), len(vectors)))
    return Batch(_broadcast(vectors, len(words)), counts.dense(words), mask)


def _broadcast(vectors: np.ndarray, words: int) -> np.ndarray:
    """Broadcast context vectors [V, d] to all words of a block, without a copy."""
    return np.broadcast_to(vectors, (words, *vectors.shape))


def _word_seeds(seeds: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Fold words into seeds [S, 2]: [S len(words), 2], repetition by repetition."""
    folded = [seeding.fold_each(seeds, "word", int(word)) for word in words]
    return np.stack(folded, axis=1).reshape(-1, 2)


def _by_repetition(words: State, repetitions: int) -> State:
    """Reshape arrays [S W, ...] to [S, 1, W, ...]."""
    return mapped(lambda a: a.reshape(repetitions, 1, -1, *a.shape[1:]), words)


def _concatenate(blocks: Sequence[State]) -> State:
    """Concatenate the arrays of all blocks along their first axis."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _compact(array: np.ndarray) -> np.ndarray:
    """Convert an Info [S, 1, W, K, ...] to [S, K, W, ...] in 32 bits, to save storage."""
    return array[:, 0].swapaxes(1, 2).astype(np.float32 if array.dtype.kind == "f" else np.int32)


def _pack(base: State, context: np.ndarray) -> State:
    """Put the context vectors and the words' states into one state."""
    return {"context": context} | prefixed(base, "base.")
