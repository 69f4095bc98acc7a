"""AUC and accuracy of what is kept when the most uncertain rows are referred to an expert.

farquhar2020radial, Table 1, as curves: by mutual information, as there, and by entropy. Of more
than two classes accuracy and Brier score. A row of panels for the test rows after each task; where
the stream has shifts, two for the rows on both sides of these. A learner that knows what it does
not know becomes better to the right.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from shiftbench.config import bibliography
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import predictions, referral, statistics
from shiftbench.evaluation.scoring.predictions import NEW, Rows
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Band

KIND = "figure"
JUDGES = ("categorical",)
REQUIRES = ("tests",)
KEEPS = ("predictions",)

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Of rows that are referred."""
SCORES = {"AUC, %": referral.auc, "accuracy, %": referral.accuracy, "Brier score": referral.brier}
OF_TWO, OF_MORE = ("AUC, %", "accuracy, %"), ("accuracy, %", "Brier score")
"""What is shown of two classes, and of more, where each AUC would be the mean of several."""
HEIGHT = 2.9
FAINT = 0.45
"""Opacity of bars, which are wide where streams differ much from seed to seed."""
Sets = dict[str, list[list[Rows]]]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """A row of panels a stream and set of rows, a panel a score and an uncertainty."""
    of_stream = {stream: _sets(study, stream) for stream in study.streams}
    rows = [(stream, name) for stream, sets in of_stream.items() for name in _names(sets)]
    drawn = figure_style.figure(HEIGHT * len(rows) + 0.5, caption(study), study.budget())
    panels = drawn.subplots(len(rows), len(OF_TWO) * len(referral.BY), squeeze=False)
    letters = iter(figure_style.letters(panels.size))
    for line, (stream, name) in zip(panels, rows, strict=True):
        of_learners = {
            learner: sets[name] for learner, sets in of_stream[stream].items() if name in sets
        }
        for panel, (score, by) in zip(line, _places(of_learners), strict=True):
            seeds = {one: study.run(stream, one)["seed"].values for one in of_learners}
            values = {
                one: pd.DataFrame(_curves(of_seeds, score, by), seeds[one], SHARES)
                for one, of_seeds in of_learners.items()
            }
            _draw(panel, study, values, score, _paired(values) if name == NEW else {})
            figure_style.title(panel, next(letters), f"by {by}")
        line[0].set_ylabel(f"{stream}\n{name}\n{line[0].get_ylabel()}")
        for left, right in (line[:2], line[2:]):
            right.sharey(left)
            left.autoscale(axis="y")
    figure_style.legend_above(drawn, panels[0, 0])
    return drawn


def caption(study: StudyResults) -> str:
    """What is referred, what the bars are, on how many runs, and what is cut."""
    return (
        "The rows of largest uncertainty are referred, and the others judged; mean over seeds,"
        f" {statistics.described('auc')}{_bars_of_new(study)}. As"
        f" {bibliography.short('farquhar2020radial')}, Table 1: the"
        " mutual information is that of the parameters and the class; rows of equal uncertainty,"
        " as all are for point estimates, are referred by lot. Test rows: predicted after"
        f" their task, mean over tasks.{_about_new(study)} {study.budget()}"
    )


def _shifts(study: StudyResults) -> bool:
    """Whether a stream has rows of a next segment."""
    return any(store["shift"].values[:, 1:].any() for store in study.streams.values())


def _bars_of_new(study: StudyResults) -> str:
    """What the bars are of rows of the next segment, where a stream has such."""
    of = "; of the next segment, of the difference from the mean of all learners on each seed"
    return of if _shifts(study) else ""


def _about_new(study: StudyResults) -> str:
    """What rows of the next segment are, where a stream has such."""
    if not _shifts(study):
        return ""
    return (
        " Rows of the next segment: of its first task, predicted before anything of it is learnt,"
        " from the same state as the test rows of the segment learnt; mean over shifts, which"
        " differ from seed to seed and are the same for all learners."
    )


def _sets(study: StudyResults, stream: str) -> dict[str, Sets]:
    """The sets of rows of each learner with a run that did not fail."""
    runs = {learner: study.run(stream, learner) for learner in study.learners}
    return {
        learner: predictions.sets(run, study.streams[stream])
        for learner, run in runs.items()
        if run.sizes["seed"]
    }


def _names(of_learners: dict[str, Sets]) -> list[str]:
    return list(dict.fromkeys(name for sets in of_learners.values() for name in sets))


def _places(of_learners: Mapping[str, list[list[Rows]]]) -> list[tuple[str, str]]:
    """Score and uncertainty of each panel of a row."""
    (first, *_), *_ = next(iter(of_learners.values()))
    scores = OF_TWO if first.probability.shape[1] == 2 else OF_MORE
    return [(score, by) for score in scores for by in referral.BY]


def _curves(of_seeds: list[list[Rows]], score: str, by: str) -> np.ndarray:
    """A score [seed, share] of what is kept, in percent where it is so shown."""
    found = referral.curves(of_seeds, SHARES, referral.BY[by], SCORES[score])
    return found * _factor(score)


def _factor(score: str) -> int:
    return 100 if score.endswith("%") else 1


def _paired(values: Mapping[str, pd.DataFrame]) -> dict[str, Band]:
    """How sure the difference of each learner from the mean of all is, on the same seeds.

    Nothing of one learner, or where fewer than two seeds have all of them.
    """
    shared = set.intersection(*(set(one.index) for one in values.values()))
    if len(values) < 2 or len(shared) < 2:
        return {}
    alike = {name: one.loc[sorted(shared)].to_numpy() for name, one in values.items()}
    middle = np.mean(list(alike.values()), axis=0)
    return {name: statistics.band(one - middle) for name, one in alike.items()}


def _draw(
    axes: Axes,
    study: StudyResults,
    values: Mapping[str, pd.DataFrame],
    score: str,
    paired: Mapping[str, Band],
) -> None:
    """One curve a learner, its bars aside of those of the others; paired: what these are of."""
    within = (0.0, float(_factor(score)))
    for place, (learner, of_seeds) in enumerate(values.items()):
        band = statistics.band(of_seeds.to_numpy(), within)
        # Moved aside a little, so that the bars of learners do not cover each other.
        at = 100 * np.array(SHARES) + 0.6 * (place - (len(values) - 1) / 2)
        bar = paired.get(learner, band)
        reach = np.nan_to_num([bar.mean - bar.low, bar.high - bar.mean])
        look = figure_style.look(study, learner)
        axes.errorbar(
            at, band.mean, np.maximum(reach, 0), **look, ecolor=to_rgba(look["color"], FAINT),
            ms=4, lw=1.2, elinewidth=0.9, label=study.label(learner),
        )  # fmt: skip
    axes.set(xlabel="rows referred, %", ylabel=score)
