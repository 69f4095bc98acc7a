"""AUC and accuracy of what is kept when the most uncertain rows are referred to an expert.

farquhar2020radial, Table 1, as curves: by mutual information, as there, and by entropy. Of more
than two classes accuracy and Brier score. A row of panels for the test rows after each task, and
where the stream has shifts one for the rows of new segments, predicted before they are learnt. A
learner that knows what it does not know becomes better to the right.
"""

from __future__ import annotations

import string
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.artefacts import _style
from shiftbench.planning import works
from shiftbench.scoring import predictions, referral, statistics
from shiftbench.scoring.predictions import Rows
from shiftbench.scoring.results import StudyResults

KIND = "figure"
JUDGES = ("categorical",)
REQUIRES = ("tests",)
KEEPS = ("predictions",)

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Of rows that are referred."""
SCORES = {"AUC": referral.auc, "accuracy": referral.accuracy, "Brier score": referral.brier}
OF_TWO, OF_MORE = ("AUC", "accuracy"), ("accuracy", "Brier score")
"""What is shown of two classes, and of more, where each AUC would be the mean of several."""
WITHIN = (0.0, 1.0)
HEIGHT = 2.9
LEGEND_COLUMNS = 6
Sets = dict[str, list[list[Rows]]]


@_style.styled
def draw(study: StudyResults) -> Figure:
    """A row of panels a stream and set of rows, a panel a score and an uncertainty."""
    of_stream = {stream: _sets(study, stream) for stream in study.streams}
    rows = [(stream, name) for stream, sets in of_stream.items() for name in _names(sets)]
    drawn = _style.figure(HEIGHT * len(rows) + 0.5, caption(study))
    panels = drawn.subplots(len(rows), len(OF_TWO) * len(referral.BY), squeeze=False)
    letters = iter(string.ascii_lowercase)
    for line, (stream, name) in zip(panels, rows, strict=True):
        of_learners = {
            learner: sets[name] for learner, sets in of_stream[stream].items() if name in sets
        }
        for panel, (score, by) in zip(line, _places(of_learners), strict=True):
            _draw(panel, study, of_learners, score, by)
            _style.title(panel, next(letters), f"{score}, by {by}")
        line[0].set_ylabel(f"{stream}: {name}\n{line[0].get_ylabel()}")
        for left, right in (line[:2], line[2:]):
            right.sharey(left)
            left.autoscale(axis="y")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=LEGEND_COLUMNS)
    return drawn


def caption(study: StudyResults) -> str:
    """What is referred, what the bars are, on how many runs, and what is cut."""
    return (
        f"As {works.short('farquhar2020radial')}, Table 1: the rows of largest uncertainty are"
        " referred, and the others judged; the mutual information is that of the parameters and"
        " the class, and rows of equal uncertainty, as all are for point estimates, are referred"
        f" by lot. Mean over seeds, {statistics.described('auc')}. Test rows: predicted after"
        f" their task, mean over tasks.{_about_new(study)} {study.budget()}"
    )


def _about_new(study: StudyResults) -> str:
    """What rows of new segments are, where a stream has such."""
    if not any(store["shift"].values[:, 1:].any() for store in study.streams.values()):
        return ""
    return (
        " Rows of new segments: of the first tasks of all segments but the first, predicted before"
        " they are learnt."
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


def _draw(
    axes: Axes, study: StudyResults, sets: dict[str, list[list[Rows]]], score: str, by: str
) -> None:
    """One curve a learner, its bars aside of those of the others."""
    for place, (learner, of_seeds) in enumerate(sets.items()):
        values = referral.curves(of_seeds, SHARES, referral.BY[by], SCORES[score])
        band = statistics.band(values, WITHIN).times(100)
        # Moved aside a little, so that the bars of learners do not cover each other.
        at = 100 * np.array(SHARES) + 0.6 * (place - (len(sets) - 1) / 2)
        reach = np.nan_to_num([band.mean - band.low, band.high - band.mean])
        axes.errorbar(
            at, band.mean, np.maximum(reach, 0), **_style.look(study, learner), ms=4, lw=1.2,
            elinewidth=0.8, label=study.label(learner),
        )  # fmt: skip
    axes.set(xlabel="rows referred, %", ylabel=f"{score} of the others, %")
