"""Gain of a combinator over the same learner alone: a beam, run lengths, a reset, a detector.

A method is compared, seed by seed, with the method of the study whose pipeline has the same
components but for its outermost combinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import components, metric_words, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import ranking, statistics, study_ranking, units
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import Interval

FACTS = Facts()
NAME = "combinator-gain"
ROW_INCHES = 0.24

Parts = list[tuple[str, dict[str, Any]]]


class Row(NamedTuple):
    """One row of the figure. outer: None for the row of a learner alone, which heads the others."""

    alone: str
    outer: str | None


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw a panel per stream, a row per combinator. Raises UserError without any pair."""
    lines = rows(study)
    height = 1.0 + figure_style.MESSAGE + ROW_INCHES * len(lines)
    figure = figure_style.figure(height, _foot(study), study.basis())
    figure_style.set_message(figure, message(study))
    panels = figure.subplots(1, len(study.streams), squeeze=False, sharey=True)[0]
    letters = figure_style.panel_letters(len(panels))
    for axes, stream, letter in zip(panels, study.streams, letters, strict=True):
        _draw_panel(axes, study, stream, lines)
        figure_style.set_title(axes, letter, stream)
    labels = [study.label(line.outer or line.alone) for line in lines]
    panels[0].set_yticks(range(len(lines)), labels)
    for text, line in zip(panels[0].get_yticklabels(), lines, strict=True):
        text.set_fontweight("normal" if line.outer else "bold")
    panels[0].set_ylim(len(lines) - 0.4, -0.6)
    return figure


def caption(study: StudyResults) -> str:
    """Say what gains most, describe the rows, the number of runs and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which method gains the most over its learner alone, by stream where there are several."""
    pairs = {row.outer: row for row in rows(study) if row.outer and row.outer not in study.bounds}
    gains = {
        stream: {
            name: of
            for name, row in pairs.items()
            if not np.isnan((of := gain(study, stream, row)).mean)
        }
        for stream in study.streams
    }
    if not any(gains.values()):
        return "No method can be compared with its learner alone"
    if len(gains) == 1:
        ((stream, of_stream),) = gains.items()
        return f"{stream}: {_on_one(study, pairs, of_stream)}"
    return _on_several(study, pairs, gains)


def _on_one(study: StudyResults, pairs: Mapping[str, Row], gains: Mapping[str, Interval]) -> str:
    """Say which methods gain the most on a stream. gains: of each method that has not failed."""
    best = _best.largest({name: of.mean for name, of in gains.items()})
    of, who, several = gains[best[0]], _best.names(study, best), len(best) > 1
    size = _size(study, of._replace(low=np.nan, high=np.nan) if several else of)
    over = "a learner" if several else study.label(pairs[best[0]].alone)
    if len(gains) == 1:
        if of.mean > 0:
            return f"{who} gains {size} over {over} alone"
        return f"{who} does not gain over {over} alone: {size}"
    if of.mean > 0:
        verb = "gain" if several else "gains"
        return f"{who} {verb} the most of {len(gains)} methods, {size} over {over} alone"
    verb = "are" if several else "is"
    return f"none of {len(gains)} methods gains over its learner alone; best {verb} {who}, {size}"


def _on_several(
    study: StudyResults, pairs: Mapping[str, Row], gains: Mapping[str, Mapping[str, Interval]]
) -> str:
    """Say which methods gain the most on most streams, and where the largest gain is."""
    of_all = {(stream, name): of for stream, found in gains.items() for name, of in found.items()}
    stream, largest = max(of_all, key=lambda place: of_all[place].mean)
    names = list(dict.fromkeys(name for _, name in of_all))
    where = f"of {len(gains)} streams"
    if of_all[stream, largest].mean <= 0:
        return f"None of {len(names)} methods gains over its learner alone on any {where}"
    firsts = [
        name
        for found in gains.values()
        for name in _best.largest({name: of.mean for name, of in found.items() if of.mean > 0})
    ]
    best = _best.largest({name: float(firsts.count(name)) for name in names})
    who, several = _best.names(study, best), len(best) > 1
    most = f" the most of {len(names)} methods" if len(names) > 1 else ""
    return (
        f"{who} {'each gain' if several else 'gains'}{most} on {firsts.count(best[0])} {where};"
        f" the largest gain is {_size(study, of_all[stream, largest])}"
        f" ({study.label(largest)} over {study.label(pairs[largest].alone)}, {stream})"
    )


def _size(study: StudyResults, of: Interval) -> str:
    """Return a gain with its unit and, where it has one, its interval."""
    metric = study_ranking.leading_metric(study, NAME)
    percent = units.factor(metric) == 100
    unit = "points" if percent else components.metric(metric).unit

    def shown(value: float) -> str:
        return f"{value:z.1f}" if percent else f"{value:z.3g}"

    return " ".join(filter(None, (shown(of.mean), unit, units.ends(of.low, of.high, shown))))


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    metric = study_ranking.leading_metric(study, NAME)
    return (
        f"Bold: a learner alone, and its mean {metric_words.words(metric)}. Below it: the gain of"
        " each combinator (a beam, run lengths, a reset) around this learner over the learner"
        " alone, paired by seed; each method has its own settings. Right is better. Bars:"
        f" {statistics.described(metric)} of the difference; hollow: it contains 0, or there is"
        f" none. {study.basis()}"
    )


def rows(study: StudyResults) -> list[Row]:
    """Return the rows from above: each learner alone, and then those with a combinator around it.

    Raises UserError without any.
    """
    found: dict[str, list[str]] = {}
    for outer in study.methods:
        if (alone := inner(study, outer)) is not None:
            found.setdefault(alone, []).append(outer)
    if not found:
        what = "a method with a combinator, and beside it the same pipeline without the combinator"
        raise study.lacking(NAME, what)
    order = [name for name in study.methods if name in found]
    return [Row(alone, outer) for alone in order for outer in (None, *found[alone])]


def inner(study: StudyResults, outer: str) -> str | None:
    """Return the method that a method has inside its outermost combinator, or None.

    Of several with the same components, the one with the fewest other settings.
    """
    _, *rest = _parts(study, outer)
    same = [
        name
        for name in study.methods
        if rest and [part for part, _ in _parts(study, name)] == [part for part, _ in rest]
    ]
    return min(same, key=lambda name: _differences(_parts(study, name), rest), default=None)


def gain(study: StudyResults, stream: str, row: Row) -> Interval:
    """Return how much better a method is than its learner alone; below 0 where it is worse."""
    metric = study_ranking.leading_metric(study, NAME)
    assert row.outer is not None
    scores = (study.score(stream, name, metric) for name in (row.outer, row.alone))
    return ranking.advantage(metric, *scores).times(units.factor(metric))


def _parts(study: StudyResults, method: str) -> Parts:
    """Return the components of a method with their settings, outermost first."""
    run = study.run(next(iter(study.streams)), method)
    return [(name, settings) for name, settings in provenance.spec(run)["learner"]]


def _differences(one: Parts, other: Parts) -> int:
    """Return the number of settings that differ between pipelines of the same components."""
    return sum(
        first.get(key) != second.get(key)
        for (_, first), (_, second) in zip(one, other, strict=True)
        for key in first.keys() | second.keys()
    )


def _draw_panel(axes: Axes, study: StudyResults, stream: str, lines: list[Row]) -> None:
    metric = study_ranking.leading_metric(study, NAME)
    percent = units.factor(metric) == 100
    axes.axvline(0, color="black", lw=1)
    for place, line in enumerate(lines):
        if line.outer is None:
            axes.axhline(place - 0.5, color="0.9", lw=0.8)
            continue
        of, style = gain(study, stream, line), figure_style.method_style(study, line.outer)
        fill = style["color"] if of.low > 0 or of.high < 0 else "white"
        bars = figure_style.error_bars(of)
        axes.errorbar(of.mean, place, xerr=bars, **style, mfc=fill, ms=5, capsize=2)
    for place, line in enumerate(lines):
        if line.outer is None:
            _write_mean(axes, study, stream, line.alone, place)
    sign = "" if ranking.higher_is_better(metric) else ", sign reversed"
    unit = "percentage points" if percent else components.metric(metric).unit
    words = metric_words.words(metric)
    axes.set_xlabel(f"gain in {words}{sign}{f' ({unit})' if unit else ''}")


def _write_mean(axes: Axes, study: StudyResults, stream: str, learner: str, place: float) -> None:
    """Write the mean of a learner alone into its row, on the wider side of the line at 0."""
    metric = study_ranking.leading_metric(study, NAME)
    mean = statistics.interval(study.score(stream, learner, metric)).mean
    text = units.with_percent(metric, mean)
    low, high = axes.get_xlim()
    x, side = (0.99, "right") if low + high > 0 else (0.01, "left")
    number = axes.text(x, place, text, va="center", ha=side, size=8, weight="bold")
    number.set_transform(axes.get_yaxis_transform())
