"""AUC and accuracy of the rows kept when the most uncertain ones are referred to an expert.

farquhar2020radial, Table 1, as curves: by mutual information, as there, and by entropy. For more
than two classes, accuracy and Brier score are shown. A row of panels shows the test rows after
each task or, if the stream has shifts, two rows show the rows on both sides of these. A method
with good uncertainties improves to the right. The best of each row of panels are in colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure, SubFigure

from shiftbench.config import bibliography
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import predictions, referral, statistics
from shiftbench.evaluation.scoring.predictions import NEW, TESTED, PredictedRows
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Band

FACTS = Facts(judges=("categorical",), requires=("tests",), study=("predictions",))

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares of rows that are referred."""
SCORES = {
    "AUC (%)": referral.auc,
    "accuracy (%)": referral.accuracy,
    "Brier score": referral.brier,
}
OF_TWO, OF_MORE = ("AUC (%)", "accuracy (%)"), ("accuracy (%)", "Brier score")
"""Scores shown for two classes, and for more, where an AUC would be the mean of several."""
HEIGHT = 3.2
FAINT = 0.45
"""Opacity of bars, which are wide where streams differ much from seed to seed."""
COLOURED = 3
"""Number of lines in colour; bars of more would cover each other."""
GAP = 0.085
"""Distance of names at the ends of lines, as a share of a panel's height."""
Curves = dict[str, pd.DataFrame]


class _Rows(NamedTuple):
    """A set of rows of a stream. of_methods: the rows of each method [seed][task or shift]."""

    stream: str
    name: str
    of_methods: dict[str, list[list[PredictedRows]]]

    @property
    def where(self) -> str:
        """Return the stream, with the set's name where a stream has several."""
        return self.stream if self.name == TESTED else f"{self.stream}, {self.name}"


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a row of panels per stream and set of rows, a panel per score and uncertainty."""
    sets = _sets(study)
    figure = figure_style.figure(HEIGHT * len(sets), _foot(study), study.basis())
    letters = iter(figure_style.panel_letters(len(sets) * len(OF_TWO) * len(referral.BY)))
    for rows, block in figure_style.divide(figure, sets):
        _draw_rows(block, study, rows, letters)
    return figure


def caption(study: StudyResults) -> str:
    """Say who leads, describe the referral, the bars, the number of runs and the reductions."""
    messages = [
        _message(study, rows, _curves(study, rows, *_panels(rows)[0])) for rows in _sets(study)
    ]
    return (
        f"{'. '.join(messages)}. {_foot(study)} As"
        f" {bibliography.short('farquhar2020radial')}, Table 1: the"
        " mutual information is that of the parameters and the class; rows of equal uncertainty,"
        " as all are for point estimates, are referred by lot. Test rows: predicted after"
        f" their task, mean over tasks.{_new_segment_note(study)} {study.basis()}"
    )


def _message(study: StudyResults, rows: _Rows, curves: Curves) -> str:
    """Say which method has the largest score on average over the shares referred.

    curves: of the first panel.
    """
    score, by = _panels(rows)[0]
    score = score.removesuffix(" (%)")
    best, *_ = [*_leaders(curves), None]
    if best is None:
        return f"{rows.where}: no {score} of any method"
    of_all, *_, of_rest = curves[best].mean()
    referred = f"{100 * max(SHARES):.0f} % referred"
    if len(curves) == 1:
        return (
            f"{rows.where}: referred by {by}, {study.label(best)} has an {score} of {of_all:.1f} %"
            f" on all rows and of {of_rest:.1f} % with {referred}"
        )
    scores = {
        name: study.on_seeds(study.run(rows.stream, name), of_seeds.mean(axis=1).to_numpy())
        for name, of_seeds in curves.items()
    }
    return (
        f"{rows.where}: referred by {by}, {study.label(best)} has the largest {score} of"
        f" {len(curves)} methods, averaged over the shares referred: from {of_all:.1f} % on all"
        f" rows to {of_rest:.1f} % with {referred}{_best.others(study, scores, [best])}"
    )


def _foot(study: StudyResults) -> str:
    """Return the sentences on lines and bars, which are drawn below the figure."""
    return (
        "The rows of largest uncertainty are referred, and the others judged; mean over seeds. In"
        f" colour: the {COLOURED} methods with the largest score, averaged over the shares referred"
        f" by {next(iter(referral.BY))}, with {statistics.described('auc')}"
        f"{_new_segment_bars(study)}; grey: the others."
    )


def _has_shifts(study: StudyResults) -> bool:
    """Return whether a stream has rows of a next segment."""
    return any(store["shift"].values[:, 1:].any() for store in study.streams.values())


def _new_segment_bars(study: StudyResults) -> str:
    """Return the words on bars for rows of the next segment; empty without shifts."""
    words = (
        "; for the next segment, bars show the interval of a method's difference from the mean of"
        " all methods, paired by seed"
    )
    return words if _has_shifts(study) else ""


def _new_segment_note(study: StudyResults) -> str:
    """Return the sentence on rows of the next segment; empty without shifts."""
    if not _has_shifts(study):
        return ""
    return (
        " Rows of the next segment: of its first task, predicted before anything of it is learnt,"
        " from the same state as the test rows of the segment learnt; mean over shifts, which"
        " differ from seed to seed and are the same for all methods."
    )


def _sets(study: StudyResults) -> list[_Rows]:
    """Return each set of rows, with the methods that have a run that did not fail."""
    runs = {
        (stream, method): study.run(stream, method)
        for stream in study.streams
        for method in study.methods
    }
    found: dict[tuple[str, str], _Rows] = {}
    for (stream, method), run in runs.items():
        of_run = predictions.sets(run, study.streams[stream]) if run.sizes["seed"] else {}
        for name, rows in of_run.items():
            found.setdefault((stream, name), _Rows(stream, name, {})).of_methods[method] = rows
    return list(found.values())


def _draw_rows(block: SubFigure, study: StudyResults, rows: _Rows, letters: Iterator[str]) -> None:
    """Draw a panel per score and uncertainty, with the same methods in colour."""
    curves = {panel: _curves(study, rows, *panel) for panel in _panels(rows)}
    first = next(iter(curves.values()))
    figure_style.set_message(block, _message(study, rows, first))
    coloured = _leaders(first)
    panels = dict(zip(curves, block.subplots(1, len(curves)), strict=True))
    for score in dict.fromkeys(score for score, _ in panels):
        pair = {panels[score, by]: curves[score, by] for by in referral.BY}
        shown = [
            _draw_curves(axes, study, rows.name, of_methods, coloured, score)
            for axes, of_methods in pair.items()
        ]
        _set_limits(study, pair, coloured, shown)
        *_, (axes, of_methods) = pair.items()  # names in each panel would leave no room for lines
        means = {name: of_methods[name].mean().iloc[-1] for name in coloured}
        last = {name: (100 * max(SHARES), float(mean)) for name, mean in means.items()}
        highlights.name_ends(axes, highlights.ends(study, last, coloured), GAP)
    for (score, by), axes in panels.items():
        title = f"{score.removesuffix(' (%)')}, by {by}"
        figure_style.set_title(axes, next(letters), title)


def _panels(rows: _Rows) -> list[tuple[str, str]]:
    """Return score and uncertainty of each panel in a row."""
    (first, *_), *_ = next(iter(rows.of_methods.values()))
    scores = OF_TWO if first.probability.shape[1] == 2 else OF_MORE
    return [(score, by) for score in scores for by in referral.BY]


def _curves(study: StudyResults, rows: _Rows, score: str, by: str) -> Curves:
    """Return each method's score [seed, share] of the rows kept, times the factor of display."""
    return {
        method: pd.DataFrame(
            _factor(score) * referral.curves(of_seeds, SHARES, referral.BY[by], SCORES[score]),
            study.run(rows.stream, method)["seed"].values,
            SHARES,
        )
        for method, of_seeds in rows.of_methods.items()
    }


def _factor(score: str) -> int:
    return 100 if score.endswith("(%)") else 1


def _leaders(curves: Curves) -> list[str]:
    """Return the methods with the largest mean over the shares referred, best first."""
    means = {name: float(of_seeds.mean().mean()) for name, of_seeds in curves.items()}
    return highlights.leaders(means, COLOURED)


def _paired_bands(values: Mapping[str, pd.DataFrame]) -> dict[str, Band]:
    """Return the band of each method's difference from the mean of all, on the same seeds.

    Empty for a single method, or if all methods share fewer than two seeds.
    """
    shared = set.intersection(*(set(frame.index) for frame in values.values()))
    if len(values) < 2 or len(shared) < 2:
        return {}
    scores = {name: frame.loc[sorted(shared)].to_numpy() for name, frame in values.items()}
    mean = np.mean(list(scores.values()), axis=0)
    return {name: statistics.band(of_method - mean) for name, of_method in scores.items()}


def _draw_curves(
    axes: Axes, study: StudyResults, name: str, curves: Curves, coloured: list[str], score: str
) -> np.ndarray:
    """Draw one curve per method, with bars if it is coloured; return the ends of all bars.

    name: of the set of rows. Bars of rows of the next segment are of the difference from the mean
    of all methods.
    """
    paired, ends = _paired_bands(curves) if name == NEW else {}, [np.empty(0)]
    for method, of_seeds in curves.items():
        band = statistics.band(of_seeds.to_numpy(), (0.0, float(_factor(score))))
        style = highlights.style(study, method, coloured)
        if method not in coloured:
            axes.plot(100 * np.array(SHARES), band.mean, **style, lw=1.0)
            continue
        # Shifted so that the bars of methods do not cover each other.
        x = 100 * np.array(SHARES) + 0.8 * (coloured.index(method) - (len(coloured) - 1) / 2)
        bars = np.nan_to_num(figure_style.error_bars(paired.get(method, band)))
        bars = np.maximum(bars, 0)
        axes.errorbar(
            x, band.mean, bars, **style, ecolor=to_rgba(style["color"], FAINT),
            ms=4, lw=1.2, elinewidth=0.9, label=study.label(method),
        )  # fmt: skip
        ends += [band.mean - bars[0], band.mean + bars[1]]
    axes.set(ylabel=score, xticks=range(0, 51, 10))
    return np.concatenate(ends)


def _set_limits(
    study: StudyResults, pair: dict[Axes, Curves], coloured: list[str], shown: list[np.ndarray]
) -> None:
    """Give the panels of a score one axis, which a grey line far off does not squeeze.

    shown: numbers that the axis has to cover.
    """
    first, *others = pair
    grey = {
        study.label(name): np.array([curves[name].mean() for curves in pair.values()])
        for name in pair[first]
        if name not in coloured
    }
    left = highlights.limit(first, shown if coloured else list(grey.values()), grey)
    for axes in others:
        axes.sharey(first)
        axes.tick_params(labelleft=False)
        axes.set_ylabel("")
    for axes in pair:
        axes.set_xlabel(f"rows referred, %\n{highlights.beyond(left)}".strip())
