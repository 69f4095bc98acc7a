"""Counts of word pairs as a user would write them: scikit-learn's tokens, SciPy's matrices."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from sklearn.feature_extraction.text import CountVectorizer

from perf import problems
from perf.work import Work

PATTERN = r"\w+(?:[-'’]\w+)*|[^\w\s]"  # noqa: RUF001  # as ours
WINDOW = 4


def counting(years: int) -> Work:
    """Return the counting of pairs in a folder of texts by year."""

    folder = tempfile.TemporaryDirectory()  # removed together with the work
    problems.write_texts(Path(folder.name), years)

    def matrices() -> list:
        return [_of_year(Path(folder.name), 1970 + year) for year in range(years)]

    def shows() -> dict[str, np.ndarray]:
        return {"counts of each year": np.array([matrix.sum() for matrix in matrices()])}

    return Work(matrices, problems.tokens(years), shows=shows)


def _of_year(folder: Path, year: int):
    split = CountVectorizer(lowercase=False, token_pattern=PATTERN).build_analyzer()
    number = {word: place for place, word in enumerate(problems.VOCABULARY)}
    row, column, value = [], [], []
    for file in sorted(folder.glob(f"{year}_*.txt")):
        ids = np.array([number.get(token, -1) for token in split(file.read_text())])
        for d in range(1, 1 + WINDOW):
            known = (ids[:-d] >= 0) & (ids[d:] >= 0)
            row.append(ids[:-d][known])
            column.append(ids[d:][known])
            value.append(np.full(known.sum(), (1 + WINDOW - d) / WINDOW))
    places = np.concatenate(row), np.concatenate(column)
    shape = len(number), len(number)
    half = coo_array((np.concatenate(value), places), shape=shape).tocsr()
    return (half + half.T).tocsr()
