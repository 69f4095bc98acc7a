"""Content words that move farthest when their meaning changes, with their neighbours.

Shown are the most likely hypotheses of the first method that decides about changes, for its first
seed. Changes are ordered by the distance that the word's vector moves (1 - cosine) rather than by
their probability, which is always 1 for frequent words.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.core.facts import Facts
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import histories, trajectories
from shiftbench.evaluation.scoring.words.histories import WordHistory

FACTS = Facts(takes=("counts",), from_learner=("lineage", "mean"))

ROWS, NEIGHBOURS = 40, 4
LEAST = 0.5
"""Smallest weight of the hypotheses with a change for it to be listed."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per change, the farthest first; a new word has not changed.

    planted, where the truth is known: whether the word did change in this period or in an adjacent
    one. Raises UserError if no method decides about changes.
    """
    run, store, history = _first_seed(study)
    distance, truth = _content_distance(run, history), _planted(run, store)
    rows = []
    for t, word in _farthest(distance):
        row = {
            "word": str(history.words[word]),
            "period": history.periods[t],
            "distance": f"{distance[t, word]:.2f}",
            "before": ", ".join(histories.neighbours(history, word, t - 1, NEIGHBOURS)),
            "after": ", ".join(histories.neighbours(history, word, t, NEIGHBOURS)),
        }
        if truth is not None:
            row["planted"] = "yes" if truth[max(t - 1, 0) : t + 2, word].any() else "no"
        rows.append(row)
    columns = ["word", "period", "distance", "before", "after"]
    return pd.DataFrame(rows, columns=columns + (["planted"] if truth is not None else []))


def caption(study: StudyResults) -> str:
    """Describe the columns, the method and seed, and the reductions."""
    stream = next(iter(study.streams))
    method = histories.deciding(study, stream, "word-changes")
    run, store, history = _first_seed(study)
    everything = int(np.isfinite(_distance(run, history)).sum())
    content = int(np.isfinite(_content_distance(run, history)).sum())
    return (
        f"{stream}, {study.label(method)}, seed {int(run['seed'].values[0])}: {everything} changes"
        f" of meaning (weight at least {LEAST}, new words left out);"
        f" {content} are in content words. The table shows the {min(content, ROWS)} largest."
        f" {histories.content_note(store)} distance: 1 - cosine of the word's vectors"
        f" before and after; before, after: the {NEIGHBOURS} nearest words that had occurred by"
        " then. Vectors are those of the most"
        f" likely hypothesis, each segment's at its end. {study.basis([stream])}"
    )


def _first_seed(study: StudyResults) -> tuple[xr.Dataset, xr.DataTree, WordHistory]:
    """Return the run shown with its first seed, its stream, and the histories of its words."""
    stream = next(iter(study.streams))
    method = histories.deciding(study, stream, "word-changes")
    run = study.run(stream, method).isel(seed=[0])
    return run, study.streams[stream], histories.history(run, study.streams[stream])


def _distance(run: xr.Dataset, history: WordHistory) -> np.ndarray:
    """Return the movement of words at changes of enough weight [T, W]; NaN elsewhere."""
    probable = trajectories.change_probability(run, 0) >= LEAST
    return np.where(probable, history.distance, np.nan)


def _content_distance(run: xr.Dataset, history: WordHistory) -> np.ndarray:
    """Return `_distance` of content words; NaN for others."""
    return np.where(history.content, _distance(run, history), np.nan)


def _farthest(distance: np.ndarray) -> list[tuple[int, int]]:
    """Return (period, word) of the largest distances [T, W], ignoring NaN, the largest first."""
    order = np.argsort(-distance, axis=None, kind="stable")[: int(np.isfinite(distance).sum())]
    return [divmod(index, distance.shape[1]) for index in order[:ROWS].tolist()]


def _planted(run: xr.Dataset, store: xr.DataTree) -> np.ndarray | None:
    """Return which words change [T, W], or None if it is unknown."""
    if "changed" not in store.dataset:
        return None
    return store["changed"].values[int(run["realisation"].values[0])].astype(bool)
