"""What artefacts of streams of counts share: which runs they show, words over time, content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.core.suggestions import refuse_unknown
from shiftbench.evaluation.scoring import beam_lineage
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import trajectories
from shiftbench.evaluation.scoring.words.trajectories import Trajectories


class Segment(NamedTuple):
    """Periods from `first` to `last` in which a word has one vector, and its neighbours there."""

    first: int
    last: int
    neighbours: list[str]


class Story(NamedTuple):
    """What a seed of a run says of W words in T periods.

    words: [W] str; periods: T names; there: whether a word is in the training text of a period
    [T, W] bool; content: whether it is more than grammar [W] bool.
    """

    words: np.ndarray
    periods: list[str]
    found: Trajectories
    there: np.ndarray
    content: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Whether a word has been in the text of a period or an earlier one [T, W]."""
        return np.logical_or.accumulate(self.there)

    @property
    def distance(self) -> np.ndarray:
        """How far a word moves with each period [T, W]: 1 - cosine; NaN where it does not change.

        A word that was in no text before is new, and has not moved.
        """
        vectors = self.found.vector[self.found.segment]
        moved = 1 - trajectories.similarity(vectors[1:], vectors[:-1])
        changed = self.found.changed[1:] & self.known[:-1]
        return np.vstack([np.full(len(self.words), np.nan), np.where(changed, moved, np.nan)])


def story(run: xr.Dataset, stream: xr.DataTree, seed: int = 0) -> Story:
    """Of a run's seed, by its place."""
    realisation, words = int(run["realisation"].values[seed]), run["word"].values
    return Story(
        words,
        period_names(stream),
        trajectories.of_seed(run, seed),
        stream["unigram"].values[realisation] > 0,
        _content(words, stream, realisation),
    )


def _content(words: np.ndarray, stream: xr.DataTree, realisation: int) -> np.ndarray:
    """Of planted words, those of a theme; else what has a letter and is no stop word."""
    # Only here: scikit-learn is slow to import.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    if "theme" in stream.dataset:
        return stream["theme"].values[realisation, 0] >= 0
    letters = [any(map(str.isalpha, word)) for word in words.tolist()]
    grammar = [word.lower() in ENGLISH_STOP_WORDS for word in words.tolist()]
    return np.array(letters) & ~np.array(grammar)


def told_content(stream: xr.DataTree) -> str:
    """Which words are of content, for captions."""
    if "theme" in stream.dataset:
        return "Words of content are those of a theme."
    return "Words of content have a letter and are none of the English stop words of scikit-learn."


def deciding(study: StudyResults, stream: str, artefact: str) -> str:
    """The first learner that decides when words change; UserError without one."""
    for learner in study.learners:
        run = study.run(stream, learner)
        if run.sizes["seed"] and beam_lineage.decides(run) and "info_mean" in run:
            return learner
    raise study.lacking(
        artefact,
        "a learner that decides when words change, with at least one run that did not fail",
    )


def period_names(stream: xr.DataTree) -> list[str]:
    """The years of each period, such as 1970 or 1970-74."""
    first, years = stream.dataset["first_year"].values, int(stream.attrs.get("period_years", 1))
    return [str(year) if years == 1 else f"{year}-{(year + years - 1) % 100:02d}" for year in first]


def segments(story: Story, word: int, number: int) -> list[Segment]:
    """The segments of a word from its first occurrence, each with so many neighbours at its end."""
    born = int(np.argmax(story.there[:, word]))
    starts = [0, *np.flatnonzero(story.found.changed[:, word]).tolist()]
    ends = [start - 1 for start in starts[1:]] + [len(story.periods) - 1]
    return [
        Segment(max(first, born), last, near(story, word, last, number))
        for first, last in zip(starts, ends, strict=True)
        if last >= born
    ]


def span(names: list[str], segment: Segment) -> str:
    """The periods of a segment in words."""
    first, last = names[segment.first], names[segment.last]
    return first if first == last else f"{first} to {last}"


def near(story: Story, word: int, period: int, number: int) -> list[str]:
    """The nearest words in a period, of those that have occurred by then."""
    order = trajectories.neighbours(story.found.at(period), word, len(story.words))
    known = order[story.known[period, order] & (order != word)]
    return story.words[known[:number]].tolist()


def histories(
    study: StudyResults, chosen: Sequence[str], learner: str | None, seed: int, number: int = 8
) -> str:
    """The segments of words with their neighbours, for people to read.

    UserError for an unknown learner, seed or word.
    """
    stream = next(iter(study.streams))
    learner = learner or deciding(study, stream, "words")
    refuse_unknown("learner", learner, study.learners)
    run = study.run(stream, learner)
    refuse_unknown("seed", seed, run["seed"].values.tolist())
    place = run["seed"].values.tolist().index(seed)
    told = story(run, study.streams[stream], place)
    text = [f"{study.name}, {stream}, {learner}, seed {seed}"]
    for name in chosen:
        refuse_unknown("word", name, told.words.tolist())
        word = int(np.flatnonzero(told.words == name)[0])
        text.append(f"\n{name}")
        for one in segments(told, word, number):
            text.append(f"  {span(told.periods, one):24} {', '.join(one.neighbours)}")
    return "\n".join(text)
