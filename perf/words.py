"""Cost of fits of word vectors beside the papers' Adam, and of counting beside SciPy.

SHIFTBENCH_MIRROR=FOLDER .venv/bin/python -m perf.words [fits|counting], on a quiet
machine, from the root of the repository. Minutes; processor time, rounds alternate.

fits: 20 words of a simulated vocabulary of 2,000 (Zipf frequencies, 2e6 pairs, d = 20), each
with 16 hypotheses as a beam of 8 has them: the posteriors of a first period and their slabs.
Gaps are to the optimum of an independent implementation in float64 with 61 quadrature nodes
(tests/oracles). `paper` is li2021vbs, C.3; `code` clips gradients to .1 and has beta2 .99.

counting: UN debates 1970 to 1979 with a given vocabulary, from decoded text in memory to the
counts of each year. The other is what a user would write: scikit-learn's tokens, a dict, and
a sparse SciPy matrix a year. Each runs in a process of its own, for its memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from shiftbench.core import seeds
from shiftbench.core.interface import Batch, Broadening, Problem
from shiftbench.data.text import _corpora, _counts, _text_files, _tokens, _vocabulary
from shiftbench.evaluation.running import cost
from tests.oracles import skipgram as oracle

V, D, WORDS, HYPOTHESES, PAIRS = 2000, 20, 20, 16, 2_000_000
FITS = {
    "Newton": {},
    "Newton, 3 nodes": {"nodes": 3, "elbo_nodes": 6, "tolerance": 1e-3},
    "Adam, paper, 200 steps": {"method": "adam", "steps": 200},
    "Adam, paper": {"method": "adam"},
    "Adam, code": {"method": "adam", "beta2": 0.99, "clip": 0.1},
}
REPEATS = {"Newton": 20, "Newton, 3 nodes": 20}
"""Fits in a row that one round times, where one alone is too short."""
ROUNDS, LAST_YEAR, VOCABULARIES = 3, 1979, (2000, 10_000)
PATTERN = r"\w+(?:[-'’]\w+)*|[^\w\s]"  # noqa: RUF001  # as data/text/_tokens.py


def fits() -> None:
    """Prints seconds and gaps of each way to fit."""
    from shiftbench.methods.learners import skipgram

    problem = Problem("word", (D,), 2, V, 3)
    prior, data, key = _fits_to_do(skipgram.build(skipgram.Settings(), problem))
    made = {name: skipgram.build(skipgram.Settings(**how), problem) for name, how in FITS.items()}
    best = _optima(prior, data)
    seconds: dict[str, list[float]] = {name: [] for name in made}
    gaps = {}
    for number in range(ROUNDS + 1):
        for name, learner in made.items():
            times = REPEATS.get(name, 1)
            start = time.process_time()
            for _ in range(times):
                found, _ = learner.observe(prior, data, key)
            if number:  # the first one traces and compiles
                seconds[name].append((time.process_time() - start) / times)
            gaps[name] = best - _exact(prior, data, found)
    print(f"{WORDS * HYPOTHESES} fits, {V} contexts, d = {D}; gaps in nats, without KL's constant")
    newton = statistics.median(seconds["Newton"])
    for name, gap in gaps.items():
        took = statistics.median(seconds[name])
        # Children s = 1 and s = 0 of a parent: their difference is what a beam decides by.
        half = HYPOTHESES // 2
        decision = (gap[:, half:] - gap[:, :half]).ravel()
        print(
            f"{name:24s} {took:8.3f} s ({min(seconds[name]):.3f}), {took / newton:6.1f} x Newton;"
            f" gap mean {gap.mean():.2g}, largest {gap.max():.2g};"
            f" error of s=1 against s=0: rms {np.sqrt((decision**2).mean()):.2g}"
        )


def _fits_to_do(learner) -> tuple[dict[str, np.ndarray], Batch, np.ndarray]:
    """Priors [words, 16] after a first period, and the counts of a second."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(scale=0.5, size=(V, D)).astype(np.float32)
    frequency = 1 / np.arange(1, V + 1)
    frequency /= frequency.sum()
    chosen = np.unique(np.geomspace(1, V - 1, WORDS).astype(int))
    chosen = np.concatenate([chosen, np.setdiff1d(np.arange(1, V), chosen)[: WORDS - len(chosen)]])
    key, half = seeds.block(range(WORDS), "words"), HYPOTHESES // 2
    u = rng.normal(scale=0.4, size=(WORDS, D))
    start = {k: np.repeat(a, half, axis=1) for k, a in learner.init(key).items()}
    start["mean"] += rng.normal(scale=0.1, size=start["mean"].shape).astype(np.float32)
    after, _ = learner.observe(start, _period(rng, contexts, frequency, chosen, u), key)
    slabs = learner.broaden(after, Broadening("temper-prior", beta=0.25))
    prior = {k: np.concatenate([after[k], slabs[k]], axis=1) for k in after}
    moved = u + rng.normal(scale=0.2, size=u.shape)
    return prior, _period(rng, contexts, frequency, chosen, moved), key


def _period(
    rng: np.random.Generator, contexts: np.ndarray, frequency: np.ndarray, chosen: np.ndarray, u
) -> Batch:
    rate = frequency * np.exp(np.clip(u @ contexts.T, -5, 5))
    mass = PAIRS * frequency[chosen]
    positives = rng.poisson(rate / rate.sum(axis=1, keepdims=True) * mass[:, None])
    share = frequency**0.75 / (frequency**0.75).sum()
    targets = np.stack([positives, positives.sum(axis=1, keepdims=True) * share], axis=-1)
    inputs = np.broadcast_to(contexts, (len(u), V, D))
    return Batch(inputs, targets.astype(np.float32), np.ones((len(u), V), bool))


def _cases(prior, data: Batch):
    for w, h in np.ndindex(prior["mean"].shape[:2]):
        known = tuple(prior[name][w, h].astype(float) for name in ("mean", "precision"))
        yield w, h, data.inputs[w].astype(float), data.targets[w].astype(float), known


def _optima(prior, data: Batch) -> np.ndarray:
    best = np.empty(prior["mean"].shape[:2])
    for w, h, features, counts, known in _cases(prior, data):
        q = oracle.optimum(features, counts, known)
        best[w, h] = np.subtract(*oracle.elbo(features, counts, known, q))
    return best


def _exact(prior, data: Batch, found) -> np.ndarray:
    """The ELBO of posteriors, in float64."""
    reached = np.empty(prior["mean"].shape[:2])
    for w, h, features, counts, known in _cases(prior, data):
        q = tuple(found[name][w, h].astype(float) for name in ("mean", "precision"))
        reached[w, h] = np.subtract(*oracle.elbo(features, counts, known, q))
    return reached


def counting() -> None:
    """Prints tokens a second and memory of both ways to count, alternating."""
    mirror = Path(os.environ["SHIFTBENCH_MIRROR"]) / "un-general-debates"
    for size in VOCABULARIES:
        rates: dict[str, list[tuple[float, float]]] = {"ours": [], "SciPy": []}
        totals = set()
        for _ in range(ROUNDS):
            for name, way in (("ours", count_ours), ("SciPy", count_as_users_do)):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    rate, memory, total = pool.apply(_measured, (way, mirror, size))
                rates[name].append((rate, memory))
                totals.add(total)
        assert len(totals) == 1, "both must count the same"
        middle = {k: np.median(np.array(v), axis=0) for k, v in rates.items()}
        for name, (rate, memory) in middle.items():
            print(
                f"{size:6,} words, {name:7s} {rate / 1e6:6.2f} million tokens/s,"
                f" {rate / middle['SciPy'][0]:4.1f} x SciPy, {memory:6.0f} MB more than the text"
            )


def _measured(way: Callable, mirror: Path, size: int) -> tuple[float, float, float]:
    texts = _texts(mirror)
    totals = _vocabulary.Totals()
    for _, text in texts:
        found = _tokens.split(text)
        ones = np.ones(len(found.digest))
        totals.add(text, found, ones, ones)
    words = _vocabulary.ranked(totals, size, 1, "total", "the benchmark")
    way(texts[:2], words)  # compiles
    before, start = cost.peak_bytes(), time.process_time()
    tokens, total = way(texts, words)
    rate = tokens / (time.process_time() - start)
    return rate, (cost.peak_bytes() - before) / 2**20, total()


def _texts(mirror: Path) -> list[tuple[int, str]]:
    named = _text_files.members(mirror / _corpora.UN_ARCHIVE, ".txt")
    dated = ((int(name[-8:-4]), content) for name, content in named)
    return [(year, content.decode("utf-8-sig")) for year, content in dated if year <= LAST_YEAR]


def count_ours(texts: list[tuple[int, str]], words: list[str]) -> tuple[int, Callable[[], float]]:
    """Tokens, and how to add up all counts."""
    from shiftbench.data.text import _shards

    table, weights = _tokens.table(words), _counts.weights("linear", 4)
    years = np.array([year for year, _ in texts]) - 1970
    with tempfile.TemporaryDirectory() as folder:
        counter = _shards.Counter(LAST_YEAR - 1969, len(words), weights, Path(folder))
        tokens = 0
        for first in range(0, len(texts), 200):
            part = slice(first, first + 200)
            found = [_tokens.split(text).digest for _, text in texts[part]]
            numbers = [_tokens.numbers(table, digest) for digest in found]
            counter.add(_counts.text(numbers, years[part], 4))
            tokens += sum(map(len, found))
        made = counter.partial(0, np.arange(1970, LAST_YEAR + 1), tokens=np.zeros(10, np.int64))
        made = made.load()

    def total() -> float:
        word = np.repeat(np.arange(made.sizes["edge"] - 1), np.diff(made["row_start"].values))
        twice = np.where(word % len(words) == made["column"].values, 1, 2)
        return float((twice * made["count"].values).sum()) / weights.units

    return tokens, total


def count_as_users_do(
    texts: list[tuple[int, str]], words: list[str]
) -> tuple[int, Callable[[], float]]:
    """Tokens, and how to add up all counts."""
    from scipy.sparse import coo_array
    from sklearn.feature_extraction.text import CountVectorizer

    split = CountVectorizer(lowercase=False, token_pattern=PATTERN).build_analyzer()
    number = {word: place for place, word in enumerate(words)}
    shape = len(words), len(words)
    tokens, matrices = 0, []
    for year in range(1970, LAST_YEAR + 1):
        row, column, value = [], [], []
        for _, text in (one for one in texts if one[0] == year):
            found = split(text)
            tokens += len(found)
            ids = np.array([number.get(token, -1) for token in found])
            for d in range(1, 5):
                known = (ids[:-d] >= 0) & (ids[d:] >= 0)
                row.append(ids[:-d][known])
                column.append(ids[d:][known])
                value.append(np.full(known.sum(), (5 - d) / 4))
        if row:
            places = np.concatenate(row), np.concatenate(column)
            half = coo_array((np.concatenate(value), places), shape=shape).tocsr()
            matrices.append((half + half.T).tocsr())
    return tokens, lambda: float(sum(matrix.sum() for matrix in matrices))


def main() -> None:
    """Runs one part, or both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="?", choices=["fits", "counting"])
    part = parser.parse_args().part
    print(f"load before: {psutil.getloadavg()[0]:.2f} on {psutil.cpu_count()} processors")
    if part != "counting":
        fits()
    if part != "fits":
        counting()


if __name__ == "__main__":
    main()
