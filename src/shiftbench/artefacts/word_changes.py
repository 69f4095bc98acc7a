"""The words that most probably change their meaning with each period, and their neighbours.

Of the first learner that decides about changes, its first seed. The probability is the weight
of the hypotheses, at the end of the stream, in which the word changes there.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.artefacts import _words
from shiftbench.scoring.results import StudyResults
from shiftbench.scoring.words import trajectories

KIND = "table"
TAKES = ("counts",)
FROM = ("lineage", "mean")

PER_PERIOD, NEIGHBOURS = 5, 4
LEAST = 0.5
"""Probability below which a change is not listed."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a change, by period and probability, and then by how far the word moved.

    planted, where the truth is known: whether the word did change in this period, or in the
    one beside it. UserError where no learner decides about changes.
    """
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-changes")
    run, store = study.run(stream, learner).isel(seed=[0]), study.streams[stream]
    found = trajectories.of_seed(run, 0)
    probability = trajectories.change_probability(run, 0)
    words, names, truth = run["word"].values, _words.period_names(store), _planted(run, store)
    rows = []
    for t in range(1, len(names)):
        near = trajectories.similarity(found.at(t), found.at(t - 1))
        listed = [w for w in np.lexsort((near, -probability[t])) if probability[t, w] >= LEAST]
        for word in listed[:PER_PERIOD]:
            row = {
                "period": names[t],
                "word": str(words[word]),
                "probability": f"{probability[t, word]:.2f}",
                "similarity": f"{near[word]:.2f}",
                "before": ", ".join(_words.near(found, words, word, t - 1, NEIGHBOURS)),
                "after": ", ".join(_words.near(found, words, word, t, NEIGHBOURS)),
            }
            if truth is not None:
                row["planted"] = "yes" if truth[max(t - 1, 0) : t + 2, word].any() else "no"
            rows.append(row)
    columns = ["period", "word", "probability", "similarity", "before", "after"]
    return pd.DataFrame(rows, columns=columns + (["planted"] if truth is not None else []))


def caption(study: StudyResults) -> str:
    """What the columns are, of which learner and seed, and what is cut."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-changes")
    seed = int(study.run(stream, learner)["seed"].values[0])
    return (
        f"{stream}, {study.label(learner)}, seed {seed}. At most {PER_PERIOD} words a period, those"
        " that change with the highest probability: the weight of the hypotheses at the end in"
        " which they do. similarity: cosine of the word's vectors before and after; before, after:"
        f" the {NEIGHBOURS} nearest words. Vectors are those of the most likely hypothesis, each"
        f" segment's at its end. {study.budget([stream])}"
    )


def _planted(run: xr.Dataset, store: xr.DataTree) -> np.ndarray | None:
    """Which words change [T, W], where it is known."""
    if "changed" not in store.dataset:
        return None
    return store["changed"].values[int(run["realisation"].values[0])].astype(bool)
