"""Histories of words in streams of counts: their segments, neighbours and movements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.suggestions import refuse_unknown
from shiftbench.evaluation.scoring import run_infos
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import trajectories
from shiftbench.evaluation.scoring.words.trajectories import Trajectories


class Segment(NamedTuple):
    """Periods `first` to `last` in which a word has one vector, and its neighbours at the end."""

    first: int
    last: int
    neighbours: list[str]


class WordHistory(NamedTuple):
    """Trajectories of W words over T periods, of one seed of a run.

    words: [W] str; periods: T names; present: whether a word is in the training text of a period
    [T, W] bool; content: whether it is a content word rather than a function word [W] bool.
    """

    words: np.ndarray
    periods: list[str]
    trajectories: Trajectories
    present: np.ndarray
    content: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """Return whether each word has occurred in a period or an earlier one [T, W]."""
        return np.logical_or.accumulate(self.present)

    @property
    def distance(self) -> np.ndarray:
        """Movement of a word in each period [T, W]: 1 - cosine; NaN where it does not change.

        A word that has not occurred before is new, and has not moved.
        """
        vectors = self.trajectories.vector[self.trajectories.segment]
        moved = 1 - trajectories.similarity(vectors[1:], vectors[:-1])
        changed = self.trajectories.changed[1:] & self.seen[:-1]
        return np.vstack([np.full(len(self.words), np.nan), np.where(changed, moved, np.nan)])


def history(run: xr.Dataset, stream: xr.DataTree, seed: int = 0) -> WordHistory:
    """Return the histories of all words. seed: its position in the run."""
    realisation, words = int(run["realisation"].values[seed]), run["word"].values
    return WordHistory(
        words,
        period_names(stream),
        trajectories.of_seed(run, seed),
        stream["unigram"].values[realisation] > 0,
        _is_content(words, stream, realisation),
    )


def _is_content(words: np.ndarray, stream: xr.DataTree, realisation: int) -> np.ndarray:
    """Return which words have a letter and are not stop words; of planted words, have a theme."""
    # Imported here because scikit-learn is slow to import.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    if "theme" in stream.dataset:
        return stream["theme"].values[realisation, 0] >= 0
    letters = [any(map(str.isalpha, word)) for word in words.tolist()]
    stop_words = [word.lower() in ENGLISH_STOP_WORDS for word in words.tolist()]
    return np.array(letters) & ~np.array(stop_words)


def content_note(stream: xr.DataTree) -> str:
    """Return the sentence for captions on which words are content words."""
    if "theme" in stream.dataset:
        return "Content words: those of a theme."
    return "Content words: those with a letter, without the English stop words of scikit-learn."


def deciding(study: StudyResults, stream: str, artefact: str) -> str:
    """Return the first method that decides when words change. Raises UserError without one."""
    for method in study.methods:
        run = study.run(stream, method)
        if run.sizes["seed"] and run_infos.has_lineage(run) and "info_mean" in run:
            return method
    raise study.lacking(
        artefact,
        "a method that decides when words change, with at least one run that did not fail",
    )


def period_names(stream: xr.DataTree) -> list[str]:
    """Return the years of each period, such as 1970 or 1970-74."""
    first, years = stream.dataset["first_year"].values, int(stream.attrs.get("period_years", 1))
    return [str(year) if years == 1 else f"{year}-{(year + years - 1) % 100:02d}" for year in first]


def segments(history: WordHistory, word: int, number: int) -> list[Segment]:
    """Return the segments of a word from its first occurrence, each with `number` neighbours."""
    birth = int(np.argmax(history.present[:, word]))
    starts = [0, *np.flatnonzero(history.trajectories.changed[:, word]).tolist()]
    ends = [start - 1 for start in starts[1:]] + [len(history.periods) - 1]
    return [
        Segment(max(first, birth), last, neighbours(history, word, last, number))
        for first, last in zip(starts, ends, strict=True)
        if last >= birth
    ]


def span(names: list[str], segment: Segment) -> str:
    """Return the periods of a segment in words."""
    first, last = names[segment.first], names[segment.last]
    return first if first == last else f"{first} to {last}"


def neighbours(history: WordHistory, word: int, period: int, number: int) -> list[str]:
    """Return the nearest words in a period, among those that have occurred by then."""
    order = trajectories.neighbours(history.trajectories.at(period), word, len(history.words))
    seen = order[history.seen[period, order] & (order != word)]
    return history.words[seen[:number]].tolist()


def describe(
    study: StudyResults, names: Sequence[str], method: str | None, seed: int, number: int = 8
) -> str:
    """Return the segments of words with their neighbours, as text for people.

    names: the words; method: by default the first that decides when words change; number: of
    neighbours of a segment. Raises UserError for an unknown method, seed or word.
    """
    stream = next(iter(study.streams))
    method = method or deciding(study, stream, "words")
    refuse_unknown("method", method, study.methods)
    run = study.run(stream, method)
    refuse_unknown("seed", seed, run["seed"].values.tolist())
    of_seed = history(run, study.streams[stream], run["seed"].values.tolist().index(seed))
    lines = [f"{study.name}, {stream}, {method}, seed {seed}"]
    for name in names:
        refuse_unknown("word", name, of_seed.words.tolist())
        word = int(np.flatnonzero(of_seed.words == name)[0])
        lines.append(f"\n{name}")
        for segment in segments(of_seed, word, number):
            periods = span(of_seed.periods, segment)
            lines.append(f"  {periods:24} {', '.join(segment.neighbours)}")
    return "\n".join(lines)
