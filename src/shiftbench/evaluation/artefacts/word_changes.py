"""The words of content that move farthest where they change their meaning, and their neighbours.

Of the first learner that decides about changes, its first seed, in its most likely hypothesis.
Not how sure a change is decides its place, which for frequent words is always 1, but how far the
word's vector moves with it: 1 - cosine.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.evaluation.artefacts import _words
from shiftbench.evaluation.artefacts._words import Story
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import trajectories

KIND = "table"
TAKES = ("counts",)
FROM = ("lineage", "mean")

ROWS, NEIGHBOURS = 40, 4
LEAST = 0.5
"""Weight of the hypotheses that have a change, below which it is not listed."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a change, the farthest first; a word that is new has not changed.

    planted, where the truth is known: whether the word did change in this period, or in the
    one beside it. UserError where no learner decides about changes.
    """
    run, store, story = _first(study)
    distance, truth = _listed(run, story), _planted(run, store)
    rows = []
    for t, word in _farthest(distance):
        row = {
            "word": str(story.words[word]),
            "period": story.periods[t],
            "distance": f"{distance[t, word]:.2f}",
            "before": ", ".join(_words.near(story, word, t - 1, NEIGHBOURS)),
            "after": ", ".join(_words.near(story, word, t, NEIGHBOURS)),
        }
        if truth is not None:
            row["planted"] = "yes" if truth[max(t - 1, 0) : t + 2, word].any() else "no"
        rows.append(row)
    columns = ["word", "period", "distance", "before", "after"]
    return pd.DataFrame(rows, columns=columns + (["planted"] if truth is not None else []))


def caption(study: StudyResults) -> str:
    """What the columns are, of which learner and seed, and what is cut."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-changes")
    run, store, story = _first(study)
    everything = int(np.isfinite(_distance(run, story)).sum())
    content = int(np.isfinite(_listed(run, story)).sum())
    return (
        f"{stream}, {study.label(learner)}, seed {int(run['seed'].values[0])}. Of {everything}"
        f" changes with a weight of {LEAST} or more, of words that were there before, {content} are"
        f" of words of content; the {min(content, ROWS)} of them that go farthest."
        f" {_words.told_content(store)} distance: 1 - cosine of the word's vectors"
        f" before and after; before, after: the {NEIGHBOURS} nearest words that had occurred by"
        " then. Vectors are those of the most"
        f" likely hypothesis, each segment's at its end. {study.budget([stream])}"
    )


def _first(study: StudyResults) -> tuple[xr.Dataset, xr.DataTree, Story]:
    """The run with its first seed, its stream, and what it says of the words."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-changes")
    run = study.run(stream, learner).isel(seed=[0])
    return run, study.streams[stream], _words.story(run, study.streams[stream])


def _distance(run: xr.Dataset, story: Story) -> np.ndarray:
    """How far words move with the changes that have weight [T, W]; NaN elsewhere."""
    sure = trajectories.change_probability(run, 0) >= LEAST
    return np.where(sure, story.distance, np.nan)


def _listed(run: xr.Dataset, story: Story) -> np.ndarray:
    """The same of words of content."""
    return np.where(story.content, _distance(run, story), np.nan)


def _farthest(distance: np.ndarray) -> list[tuple[int, int]]:
    """(period, word) of the largest distances [T, W], the largest first; NaN is none."""
    order = np.argsort(-distance, axis=None, kind="stable")[: int(np.isfinite(distance).sum())]
    return [divmod(place, distance.shape[1]) for place in order[:ROWS].tolist()]


def _planted(run: xr.Dataset, store: xr.DataTree) -> np.ndarray | None:
    """Which words change [T, W], where it is known."""
    if "changed" not in store.dataset:
        return None
    return store["changed"].values[int(run["realisation"].values[0])].astype(bool)
