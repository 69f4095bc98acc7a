"""What the artefacts of streams of counts share: which runs they show, and words over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench.names import refuse_unknown
from shiftbench.scoring import lineage
from shiftbench.scoring.results import StudyResults
from shiftbench.scoring.words import trajectories
from shiftbench.scoring.words.trajectories import Trajectories


class Segment(NamedTuple):
    """Periods from `first` to `last` in which a word has one vector, and its neighbours there."""

    first: int
    last: int
    neighbours: list[str]


def deciding(study: StudyResults, stream: str, artefact: str) -> str:
    """The first learner that decides when words change; UserError without one."""
    for learner in study.learners:
        run = study.run(stream, learner)
        if run.sizes["seed"] and lineage.decides(run) and "info_mean" in run:
            return learner
    raise study.lacking(
        artefact,
        "a learner that decides when words change, with at least one run that did not fail",
    )


def period_names(stream: xr.DataTree) -> list[str]:
    """The years of each period, such as 1970 or 1970-74."""
    first, years = stream.dataset["first_year"].values, int(stream.attrs.get("period_years", 1))
    return [str(year) if years == 1 else f"{year}-{(year + years - 1) % 100:02d}" for year in first]


def segments(found: Trajectories, words: np.ndarray, word: int, number: int) -> list[Segment]:
    """The segments of a word, each with so many neighbours in its last period."""
    starts = [0, *np.flatnonzero(found.changed[:, word]).tolist()]
    ends = [start - 1 for start in starts[1:]] + [len(found.segment) - 1]
    return [
        Segment(first, last, near(found, words, word, last, number))
        for first, last in zip(starts, ends, strict=True)
    ]


def span(names: list[str], segment: Segment) -> str:
    """The periods of a segment in words."""
    first, last = names[segment.first], names[segment.last]
    return first if first == last else f"{first} to {last}"


def near(found: Trajectories, words: np.ndarray, word: int, period: int, number: int) -> list[str]:
    """The nearest words in a period."""
    return words[trajectories.neighbours(found.at(period), word, number)].tolist()


def histories(
    study: StudyResults, chosen: Sequence[str], learner: str | None, seed: int, number: int = 8
) -> str:
    """The segments of words with their neighbours, for people to read.

    UserError for an unknown learner, seed or word.
    """
    stream = next(iter(study.streams))
    learner = learner or deciding(study, stream, "words")
    refuse_unknown("learner", learner, study.learners)
    run, names = study.run(stream, learner), period_names(study.streams[stream])
    refuse_unknown("seed", seed, run["seed"].values.tolist())
    place = run["seed"].values.tolist().index(seed)
    found, words = trajectories.of_seed(run, place), run["word"].values
    text = [f"{study.name}, {stream}, {learner}, seed {seed}"]
    for name in chosen:
        refuse_unknown("word", name, words.tolist())
        word = int(np.flatnonzero(words == name)[0])
        text.append(f"\n{name}")
        for one in segments(found, words, word, number):
            text.append(f"  {span(names, one):24} {', '.join(one.neighbours)}")
    return "\n".join(text)
