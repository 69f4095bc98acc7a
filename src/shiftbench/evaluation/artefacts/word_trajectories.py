"""Changes in the meaning of words over time (li2021vbs, Fig. 4 and 7).

For each word: the cosine similarity of its vector with that of the last period, in all its
hypotheses and for VCL, which updates the vector in every period; and the nearest words in each
segment of the most likely hypothesis. Periods without the word are left out. The words are the
study's `words` or, by default, the content words that move farthest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shiftbench.config import provenance
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import run_infos
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import histories, trajectories
from shiftbench.evaluation.scoring.words.histories import WordHistory
from shiftbench.evaluation.scoring.words.trajectories import Trajectories

FACTS = Facts(takes=("counts",), from_learner=("lineage", "mean"))

SHOWN, NEIGHBOURS, LINES = 6, 5, 8
"""Number of words if the study names none, of neighbours of a segment, of segments written out."""
HEADINGS = ("period", "nearest words")
FAINTEST = 0.02
"""Largest weight of hypotheses that are not drawn."""
CHARACTER, NARROWEST, GAP = 0.066, 2.4, 0.25
"""Widths in inches: of a character beside the panels, of all texts at least, between them."""
HIGHEST_FLOOR = 0.85
"""Highest lower end of the axis, so that words that hardly move look so."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one row per word.

    Raises UserError if no method decides about changes, or a word is not in the vocabulary.
    """
    stream = next(iter(study.streams))
    method = histories.deciding(study, stream, "word-trajectories")
    run, store = study.run(stream, method).isel(seed=[0]), study.streams[stream]
    history = histories.history(run, store)
    chosen = _shown_words(study, history)
    height = 1.55 * len(chosen) + 0.5 + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study), study.basis([stream]))
    below = figure_style.below_message(figure, message(study))
    lines = {word: _lines(history, word) for word in chosen}
    indent, width = _widths(list(lines.values()))
    grid = below.add_gridspec(len(chosen), 2, width_ratios=(figure_style.WIDTH - width, width))
    for row, word in enumerate(chosen):
        axes = below.add_subplot(grid[row, 0])
        _draw_word(axes, study, stream, run, history, word)
        axes.set_title(str(history.words[word]), weight="bold")
        _write_segments(below.add_subplot(grid[row, 1]), lines[word], indent / width, row == 0)
        if row < len(chosen) - 1:
            axes.set_xticklabels([])
    axes.set_xlabel("year" if _edges(store)[0] else "period")
    if any(_other_hypotheses(run, word) for word in chosen):
        axes.plot([], [], color=figure_style.PALETTE[1], lw=0.9, label="its other hypotheses")
    figure_style.shared_legend(below, axes)
    below.supylabel("cosine similarity with the last period", size=9, color=figure_style.INK)
    return figure


def caption(study: StudyResults) -> str:
    """Say which word moves farthest, describe the lines, the seed and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say which of the words shown moves farthest, and when."""
    stream = next(iter(study.streams))
    method = histories.deciding(study, stream, "word-trajectories")
    run, store = study.run(stream, method).isel(seed=[0]), study.streams[stream]
    history = histories.history(run, store)
    shown = _shown_words(study, history)
    start = f"{stream}, {study.label(method)}: of {len(shown)} words"
    moved = np.nan_to_num(history.distance[:, shown])
    if not moved.any():
        return f"{start} none changes"
    period, place = np.unravel_index(moved.argmax(), moved.shape)
    when = f"{'in' if _edges(store)[0] else 'in period'} {history.periods[period]}"
    return (
        f'{start} "{history.words[shown[place]]}" moves farthest, {when}, to a cosine similarity'
        f" of {1 - moved.max():.2f} with its vector before"
    )


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    stream = next(iter(study.streams))
    method = histories.deciding(study, stream, "word-trajectories")
    run, store = study.run(stream, method).isel(seed=[0]), study.streams[stream]
    seed, number = int(run["seed"].values[0]), len(store["word"])
    history = histories.history(run, store)
    shown = _shown_words(study, history)
    several = any(_other_hypotheses(run, word) for word in shown)
    others = "; thin lines: its others, the darker the more likely" if several else ""
    chosen = (
        ""
        if study.words
        else f" Shown: the content words that move farthest. {histories.content_note(store)}"
    )
    absent = (
        "" if history.present[:, shown].all() else "; none where the text does not have the word"
    )
    return (
        f"{stream}, {study.label(method)}, seed {seed}, {number:,} words. Hypotheses are those at"
        f" the end of the stream{others}; triangles: changes. Right: the"
        f" {NEIGHBOURS} nearest words by cosine in each segment's last period. Each period shows"
        f" the vector at the end of its segment{absent}.{chosen} {study.basis([stream])}"
    )


def _shown_words(study: StudyResults, history: WordHistory) -> list[int]:
    """Return the indices of the words shown, in the study's order or by their total movement."""
    absent = [word for word in study.words if word not in history.words]
    if absent:
        raise UserError(
            f"study {study.name}: {', '.join(map(repr, absent))} of its `words` is not in the"
            " vocabulary of the stream; take it out, or raise the stream's vocabulary_size"
        )
    if study.words:
        return [int(np.flatnonzero(history.words == word)[0]) for word in study.words]
    total = np.where(history.content, np.nansum(history.distance, axis=0), -1.0)
    return np.argsort(-total, kind="stable")[:SHOWN].tolist()


def _draw_word(
    axes: Axes,
    study: StudyResults,
    stream: str,
    run: xr.Dataset,
    history: WordHistory,
    word: int,
) -> None:
    edges, present = _edges(study.streams[stream]), history.present[:, word]
    for method in study.methods:
        peer = study.run(stream, method)
        if _filters(peer):
            every = trajectories.of_seed(peer.isel(word=[word]), 0)
            _line(axes, edges, present, every, 0, color="0.7", lw=2.2, label=study.label(method))
            break
    weight = _weight(run, word)
    for k in _other_hypotheses(run, word):
        other = trajectories.of_seed(run.isel(word=[word]), 0, k)
        strength = 0.25 + 0.75 * float(weight[k] / weight[0])
        _line(axes, edges, present, other, 0, color=figure_style.PALETTE[1], lw=0.9, alpha=strength)
    label = "most likely hypothesis"
    best, colour = history.trajectories, figure_style.PALETTE[0]
    _line(axes, edges, present, best, word, color=colour, lw=2, label=label)
    changed = best.changed[:, word] & history.seen[:, word]
    top = axes.get_xaxis_transform()
    for edge in edges[:-1][changed]:
        axes.plot(edge, 1.0, "v", color=figure_style.MUTED, ms=4, clip_on=False, transform=top)
    margin = 0.02 * (edges[-1] - edges[0])
    axes.set_xlim(edges[0] - margin, edges[-1] + margin)
    ticks = MaxNLocator(6, integer=True).tick_values(edges[0], edges[-2])
    axes.set_xticks([tick for tick in ticks if edges[0] <= tick <= edges[-2]])
    axes.set_ylim(min(axes.get_ylim()[0], HIGHEST_FLOOR), 1.03)


def _weight(run: xr.Dataset, word: int) -> np.ndarray:
    """Return the weight of each hypothesis of a word at the end, for the first seed."""
    return np.exp(run["info_log_weight"].isel(seed=0, task=-1, word=word).values)


def _other_hypotheses(run: xr.Dataset, word: int) -> list[int]:
    """Return the hypotheses drawn beside the most likely one, the faintest first."""
    weight = _weight(run, word)
    return [k for k in range(len(weight) - 1, 0, -1) if weight[k] > FAINTEST]


def _filters(run: xr.Dataset) -> bool:
    """Return whether the run is of a method that continues from its posterior, such as VCL."""
    forgets = provenance.offering(run, "scratch") is not None
    return "info_mean" in run and not run_infos.has_lineage(run) and not forgets


def _edges(store: xr.DataTree) -> np.ndarray:
    """Return the start of each period and the end of the last one [T + 1]."""
    first = np.asarray(store["first_year"].values)
    return np.append(first, first[-1] + int(store.attrs.get("period_years", 1)))


def _line(
    axes: Axes,
    edges: np.ndarray,
    present: np.ndarray,
    hypothesis: Trajectories,
    word: int,
    **style: object,
) -> None:
    """Draw the similarity with the last period, in the periods [T] in which the word is present."""
    vectors = hypothesis.vector[hypothesis.segment[:, word]]
    similarity = np.where(present, trajectories.similarity(vectors, vectors[-1]), np.nan)
    axes.plot(edges, np.append(similarity, similarity[-1]), drawstyle="steps-post", **style)  # type: ignore[arg-type]


def _lines(history: WordHistory, word: int) -> list[tuple[str, str]]:
    """Return the periods and the neighbours of each segment; the middle of many is left out."""
    lines = [
        (histories.span(history.periods, segment), ", ".join(segment.neighbours))
        for segment in histories.segments(history, word, NEIGHBOURS)
    ]
    left_out = len(lines) - LINES
    if left_out > 0:
        lines[LINES // 2 : -(LINES // 2)] = [("", f"({left_out} more segments)")]
    return lines


def _widths(texts: Sequence[Sequence[tuple[str, str]]]) -> tuple[float, float]:
    """Return the width of the periods, and that of both columns, in inches."""
    columns = zip(*([HEADINGS, *(line for lines in texts for line in lines)]), strict=True)
    first, second = (CHARACTER * max(map(len, column)) for column in columns)
    indent = first + GAP
    return indent, max(NARROWEST, min(indent + second, figure_style.WIDTH / 2))


def _write_segments(
    axes: Axes, lines: Sequence[tuple[str, str]], indent: float, headed: bool
) -> None:
    """Write the periods and the neighbours of each segment, one line each.

    indent: where the neighbours begin, as a share of the panel. headed: below headings.
    """
    axes.set_axis_off()
    for number, line in enumerate(lines):
        height = 1.0 - 0.125 * number
        colours = (figure_style.MUTED, figure_style.INK)
        for x, text, color in zip((0, indent), line, colours, strict=True):
            axes.text(x, height, text, size=8, color=color, va="top", transform=axes.transAxes)
        for x, text in zip((0, indent), HEADINGS if headed and not number else (), strict=False):
            axes.text(x, 1.06, text, size=8, weight="bold", transform=axes.transAxes)
