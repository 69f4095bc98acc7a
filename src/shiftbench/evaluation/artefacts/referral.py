"""AUC and accuracy of the rows kept when the most uncertain ones are referred to an expert.

farquhar2020radial, Table 1, as curves: by mutual information, as there, and by entropy. For more
than two classes, accuracy and Brier score are shown. A row of panels shows the test rows after
each task or, if the stream has shifts, two rows show the rows on both sides of these. A learner
with good uncertainties improves to the right.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import predictions, referral, statistics
from shiftbench.evaluation.scoring.predictions import NEW, PredictedRows
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Band

FACTS = Facts(judges=("categorical",), requires=("tests",), study=("predictions",))

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares of rows that are referred."""
SCORES = {"AUC, %": referral.auc, "accuracy, %": referral.accuracy, "Brier score": referral.brier}
OF_TWO, OF_MORE = ("AUC, %", "accuracy, %"), ("accuracy, %", "Brier score")
"""Scores shown for two classes, and for more, where an AUC would be the mean of several."""
HEIGHT = 2.9
FAINT = 0.45
"""Opacity of bars, which are wide where streams differ much from seed to seed."""
Sets = dict[str, list[list[PredictedRows]]]


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per stream and set of rows, a panel per score and uncertainty."""
    of_stream = {stream: _sets(study, stream) for stream in study.streams}
    rows = dict.fromkeys(
        (stream, name)
        for stream, by_learner in of_stream.items()
        for sets in by_learner.values()
        for name in sets
    )
    figure = figure_style.figure(HEIGHT * len(rows) + 0.5, caption(study), study.budget())
    panels = figure.subplots(len(rows), len(OF_TWO) * len(referral.BY), squeeze=False)
    letters = iter(figure_style.panel_letters(panels.size))
    for line, (stream, name) in zip(panels, rows, strict=True):
        of_learners = {
            learner: sets[name] for learner, sets in of_stream[stream].items() if name in sets
        }
        for panel, (score, by) in zip(line, _panels(of_learners), strict=True):
            values = {
                learner: pd.DataFrame(
                    _curves(of_seeds, score, by), study.run(stream, learner)["seed"].values, SHARES
                )
                for learner, of_seeds in of_learners.items()
            }
            _draw_curves(panel, study, values, score, _paired_bands(values) if name == NEW else {})
            figure_style.set_title(panel, next(letters), f"by {by}")
        line[0].set_ylabel(f"{stream}\n{name}\n{line[0].get_ylabel()}")
        for left, right in (line[:2], line[2:]):
            right.sharey(left)
            left.autoscale(axis="y")
    figure_style.shared_legend(figure, panels[0, 0])
    return figure


def caption(study: StudyResults) -> str:
    """Describe the referral, the bars, the number of runs and the reductions."""
    return (
        "The rows of largest uncertainty are referred, and the others judged; mean over seeds,"
        f" {statistics.described('auc')}{_new_segment_bars(study)}. As"
        f" {bibliography.short('farquhar2020radial')}, Table 1: the"
        " mutual information is that of the parameters and the class; rows of equal uncertainty,"
        " as all are for point estimates, are referred by lot. Test rows: predicted after"
        f" their task, mean over tasks.{_new_segment_note(study)} {study.budget()}"
    )


def _has_shifts(study: StudyResults) -> bool:
    """Return whether a stream has rows of a next segment."""
    return any(store["shift"].values[:, 1:].any() for store in study.streams.values())


def _new_segment_bars(study: StudyResults) -> str:
    """Return the words on bars for rows of the next segment; empty without shifts."""
    words = "; of the next segment, of the difference from the mean of all learners on each seed"
    return words if _has_shifts(study) else ""


def _new_segment_note(study: StudyResults) -> str:
    """Return the sentence on rows of the next segment; empty without shifts."""
    if not _has_shifts(study):
        return ""
    return (
        " Rows of the next segment: of its first task, predicted before anything of it is learnt,"
        " from the same state as the test rows of the segment learnt; mean over shifts, which"
        " differ from seed to seed and are the same for all learners."
    )


def _sets(study: StudyResults, stream: str) -> dict[str, Sets]:
    """Return the sets of rows of each learner with a run that did not fail."""
    runs = {learner: study.run(stream, learner) for learner in study.learners}
    return {
        learner: predictions.sets(run, study.streams[stream])
        for learner, run in runs.items()
        if run.sizes["seed"]
    }


def _panels(of_learners: Mapping[str, list[list[PredictedRows]]]) -> list[tuple[str, str]]:
    """Return score and uncertainty of each panel in a row."""
    (first, *_), *_ = next(iter(of_learners.values()))
    scores = OF_TWO if first.probability.shape[1] == 2 else OF_MORE
    return [(score, by) for score in scores for by in referral.BY]


def _curves(of_seeds: list[list[PredictedRows]], score: str, by: str) -> np.ndarray:
    """Return a score [seed, share] of the rows kept, times the factor of its display."""
    return referral.curves(of_seeds, SHARES, referral.BY[by], SCORES[score]) * _factor(score)


def _factor(score: str) -> int:
    return 100 if score.endswith("%") else 1


def _paired_bands(values: Mapping[str, pd.DataFrame]) -> dict[str, Band]:
    """Return the band of each learner's difference from the mean of all, on the same seeds.

    Empty for a single learner, or if all learners share fewer than two seeds.
    """
    shared = set.intersection(*(set(frame.index) for frame in values.values()))
    if len(values) < 2 or len(shared) < 2:
        return {}
    scores = {name: frame.loc[sorted(shared)].to_numpy() for name, frame in values.items()}
    mean = np.mean(list(scores.values()), axis=0)
    return {name: statistics.band(of_learner - mean) for name, of_learner in scores.items()}


def _draw_curves(
    axes: Axes,
    study: StudyResults,
    values: Mapping[str, pd.DataFrame],
    score: str,
    paired: Mapping[str, Band],
) -> None:
    """Draw one curve per learner. paired: bands for the bars, in place of those of the curves."""
    within = (0.0, float(_factor(score)))
    for number, (learner, of_seeds) in enumerate(values.items()):
        band = statistics.band(of_seeds.to_numpy(), within)
        # Shifted so that the bars of learners do not cover each other.
        x = 100 * np.array(SHARES) + 0.6 * (number - (len(values) - 1) / 2)
        bars = np.nan_to_num(figure_style.error_bars(paired.get(learner, band)))
        style = figure_style.method_style(study, learner)
        axes.errorbar(
            x, band.mean, np.maximum(bars, 0), **style, ecolor=to_rgba(style["color"], FAINT),
            ms=4, lw=1.2, elinewidth=0.9, label=study.label(learner),
        )  # fmt: skip
    axes.set(xlabel="rows referred, %", ylabel=score)
