"""Brute-force counts of words, and small corpora in the published formats."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from shiftbench.data.text import _counts

TOKEN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")  # noqa: RUF001
WORDS = ["peace", "war", "law", "trade", "climate", "Sea", "the", "of", "and", "to"]


def weight(weighting: str, window: int, distance: int) -> Fraction:
    if weighting == "linear":
        return Fraction(window + 1 - distance, window)
    return Fraction(1) if weighting == "flat" else Fraction(1, distance)


def brute_force(
    documents: Iterable[Sequence[int]], vocabulary: int, window: int, weighting: str = "linear"
) -> np.ndarray:
    """Return the matrix of exact counts n+ [V, V], by a double loop over each document."""
    matrix = np.full((vocabulary, vocabulary), Fraction(0))
    for document in documents:
        for p in range(len(document)):
            for q in range(p + 1, min(p + window + 1, len(document))):
                i, j = document[p], document[q]
                if i >= 0 and j >= 0:
                    matrix[i, j] += weight(weighting, window, q - p)
                    matrix[j, i] += weight(weighting, window, q - p)
    return matrix


def dense(rows: _counts.SparseRows, vocabulary: int, units: int) -> np.ndarray:
    """Return the full matrix of exact counts from half of it."""
    matrix = np.full((vocabulary, vocabulary), Fraction(0))
    pairs, values = _counts.mirrored(rows, vocabulary)
    for (i, j), value in zip(pairs.tolist(), values.tolist(), strict=True):
        matrix[i, j] += Fraction(value, units)
    return matrix


def of_batch(batch, s: int, vocabulary: int) -> np.ndarray:
    """Return the matrix of one repetition of a batch, as floats."""
    matrix = np.zeros((vocabulary, vocabulary))
    kept = batch.mask[s]
    pairs, targets = batch.inputs[s][kept], batch.targets[s][kept, 0]
    matrix[pairs[:, 0], pairs[:, 1]] = targets
    assert len(pairs) == np.count_nonzero(matrix)
    return matrix


def numbers(text: str, words: Sequence[str]) -> list[int]:
    place = {word: number for number, word in enumerate(words)}
    return [place.get(token, -1) for token in TOKEN.findall(text)]


def speeches(years: Iterable[int], each: int, seed: int = 0) -> dict[str, str]:
    """Return synthetic speeches by file name."""
    random = np.random.default_rng(seed)
    countries = [a + b + "X" for a in "ABCDE" for b in "KLMN"][:each]
    return {
        f"{country}_{year - 1945}_{year}.txt": _speech(random)
        for year in years
        for country in countries
    }


def archive(path: Path, files: dict[str, str | bytes], folder: str = "TXT/Session 25") -> Path:
    """Pack the files like the published archives."""
    with tarfile.open(path, "w:xz", preset=0) as packed:
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return path


def _speech(random: np.random.Generator) -> str:
    words = random.choice(WORDS, random.integers(5, 40)).tolist()
    ends = random.choice([" ", ", ", ".\r\n", " - "], len(words), p=[0.7, 0.1, 0.1, 0.1])
    return "".join(word + end for word, end in zip(words, ends, strict=True))
