"""When words change their meaning, and to what: li2021vbs, Fig. 4 and 7.

For each word the cosine similarity of its vector with that of the last period, in all its
hypotheses and for VCL, which updates it in every period; beside it the nearest words in each
segment of the most likely hypothesis. The words are those of the study's `words` or, where it
names none, those that move farthest.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.artefacts import _style, _words
from shiftbench.errors import UserError
from shiftbench.planning import provenance
from shiftbench.scoring import lineage
from shiftbench.scoring.results import StudyResults
from shiftbench.scoring.words import trajectories
from shiftbench.scoring.words.trajectories import Trajectories

KIND = "figure"
TAKES = ("counts",)
FROM = ("lineage", "mean")

SHOWN, NEIGHBOURS, LINES = 6, 5, 8
"""Words if the study names none; neighbours of a segment; segments that are written out."""
FAINTEST = 0.02
"""Weight below which a hypothesis is not drawn."""
HIGHEST_FLOOR = 0.85
"""The axis goes down to this at least."""


@_style.styled
def draw(study: StudyResults) -> Figure:
    """One row a word; UserError where no learner decides, or a word is not in the vocabulary."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-trajectories")
    run, store = study.run(stream, learner).isel(seed=[0]), study.streams[stream]
    found = trajectories.of_seed(run, 0)
    chosen = _chosen(study, run["word"].values, found)
    drawn = _style.figure(1.55 * len(chosen) + 0.5, caption(study))
    grid = drawn.add_gridspec(len(chosen), 2, width_ratios=(1.15, 1))
    periods = np.asarray(store["first_year"].values)
    for row, word in enumerate(chosen):
        axes = drawn.add_subplot(grid[row, 0])
        _draw_word(axes, study, stream, run, found, word, periods)
        axes.set_title(str(run["word"].values[word]), weight="bold")
        _write_segments(drawn.add_subplot(grid[row, 1]), run, store, found, word)
        if row < len(chosen) - 1:
            axes.set_xticklabels([])
    axes.set_xlabel("first year of the period" if periods[0] else "period")
    _style.legend_above(drawn, axes)
    drawn.supylabel("cosine similarity with the last period", size=9, color=_style.INK)
    return drawn


def caption(study: StudyResults) -> str:
    """What is drawn, of which learner and seed, and what is cut."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-trajectories")
    seed = int(study.run(stream, learner)["seed"].values[0])
    number = len(study.streams[stream]["word"])
    return (
        f"{stream}, {study.label(learner)}, seed {seed}, {number:,} words. Each period of a segment"
        " has the vector of the segment's end. Blue: the most likely hypothesis of the word at the"
        " end of the stream; thin lines: its others, the darker the more likely; dotted: changes."
        f" Right: the {NEIGHBOURS} nearest words by cosine in each segment's last period."
        f" {study.budget([stream])}"
    )


def _chosen(study: StudyResults, words: np.ndarray, found: Trajectories) -> list[int]:
    """The words' numbers, in the study's order or by how far they move in all."""
    absent = [word for word in study.words if word not in words]
    if absent:
        raise UserError(
            f"study {study.name}: {', '.join(map(repr, absent))} of its `words` is not in the"
            " vocabulary of the stream; take it out, or raise the stream's vocabulary_size"
        )
    if study.words:
        return [int(np.flatnonzero(words == word)[0]) for word in study.words]
    vectors = found.vector[found.segment]
    moved = 1 - trajectories.similarity(vectors[1:], vectors[:-1])
    total = np.where(found.changed[1:], moved, 0.0).sum(axis=0)
    return np.argsort(-total, kind="stable")[:SHOWN].tolist()


def _draw_word(
    axes: Axes,
    study: StudyResults,
    stream: str,
    run: xr.Dataset,
    found: Trajectories,
    word: int,
    periods: np.ndarray,
) -> None:
    for learner in study.learners:
        peer = study.run(stream, learner)
        if _filters(peer):
            every = trajectories.of_seed(peer.isel(word=[word]), 0)
            _line(axes, periods, every, 0, color="0.7", lw=2.2, label=learner)
            break
    weight = np.exp(run["info_log_weight"].isel(seed=0, task=-1, word=word).values)
    for k in range(len(weight) - 1, 0, -1):
        if weight[k] > FAINTEST:
            other = trajectories.of_seed(run.isel(word=[word]), 0, k)
            strength = 0.25 + 0.75 * float(weight[k] / weight[0])
            _line(axes, periods, other, 0, color=_style.PALETTE[1], lw=0.9, alpha=strength)
    label = "most likely hypothesis"
    _line(axes, periods, found, word, color=_style.PALETTE[0], lw=2, label=label)
    axes.plot([], [], color=_style.PALETTE[1], lw=0.9, label="its other hypotheses")
    for period in periods[np.flatnonzero(found.changed[:, word])]:
        axes.axvline(period, color=_style.MUTED, lw=0.8, ls=":", zorder=0)
    # Words that hardly move shall look so.
    axes.set_ylim(min(axes.get_ylim()[0], HIGHEST_FLOOR), 1.03)


def _filters(run: xr.Dataset) -> bool:
    """Whether the run is of a learner that goes on from its posterior, such as VCL."""
    forgets = provenance.offering(run, "scratch") is not None
    return "info_mean" in run and not lineage.decides(run) and not forgets


def _line(axes: Axes, periods: np.ndarray, found: Trajectories, word: int, **style: object) -> None:
    vectors = found.vector[found.segment[:, word]]
    near = trajectories.similarity(vectors, vectors[-1])
    axes.plot(periods, near, drawstyle="steps-post", **style)  # type: ignore[arg-type]


def _write_segments(
    axes: Axes, run: xr.Dataset, store: xr.DataTree, found: Trajectories, word: int
) -> None:
    """The neighbours of each segment, one line each."""
    axes.set_axis_off()
    names = _words.period_names(store)
    lines = [
        (_words.span(names, one), ", ".join(one.neighbours))
        for one in _words.segments(found, run["word"].values, word, NEIGHBOURS)
    ]
    left_out = len(lines) - LINES
    if left_out > 0:
        lines[LINES // 2 : -(LINES // 2)] = [("...", f"{left_out} more segments")]
    # A character of a segment's periods is .0135 of the panel wide.
    indent = max(0.24, 0.02 + 0.0135 * max(len(when) for when, _ in lines))
    for place, (when, near) in enumerate(lines):
        height = 1.0 - 0.125 * place
        for x, text, color in ((0, when, _style.MUTED), (indent, near, _style.INK)):
            axes.text(x, height, text, size=8, color=color, va="top", transform=axes.transAxes)
