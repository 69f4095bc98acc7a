"""When words change their meaning, and to what: li2021vbs, Fig. 4 and 7.

For each word the cosine similarity of its vector with that of the last period, in all its
hypotheses and for VCL, which updates it in every period; beside it the nearest words in each
segment of the most likely hypothesis. Periods whose text does not have the word are left out.
The words are those of the study's `words` or, where it names none, the words of content that
move farthest.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import provenance
from shiftbench.core.errors import UserError
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _words
from shiftbench.evaluation.artefacts._words import Story
from shiftbench.evaluation.scoring import beam_lineage
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.words import trajectories
from shiftbench.evaluation.scoring.words.trajectories import Trajectories

KIND = "figure"
TAKES = ("counts",)
FROM = ("lineage", "mean")

SHOWN, NEIGHBOURS, LINES = 6, 5, 8
"""Words if the study names none; neighbours of a segment; segments that are written out."""
FAINTEST = 0.02
"""Weight below which a hypothesis is not drawn."""
HIGHEST_FLOOR = 0.85
"""The axis goes down to this at least."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """One row a word; UserError where no learner decides, or a word is not in the vocabulary."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-trajectories")
    run, store = study.run(stream, learner).isel(seed=[0]), study.streams[stream]
    story = _words.story(run, store)
    chosen = _chosen(study, story)
    drawn = figure_style.figure(1.55 * len(chosen) + 0.5, caption(study), study.budget([stream]))
    grid = drawn.add_gridspec(len(chosen), 2, width_ratios=(1.15, 1))
    for row, word in enumerate(chosen):
        axes = drawn.add_subplot(grid[row, 0])
        _draw_word(axes, study, stream, run, story, word)
        axes.set_title(str(story.words[word]), weight="bold")
        _write_segments(drawn.add_subplot(grid[row, 1]), story, word)
        if row < len(chosen) - 1:
            axes.set_xticklabels([])
    axes.set_xlabel("year" if _edges(store)[0] else "period")
    if any(_others(run, word) for word in chosen):
        axes.plot([], [], color=figure_style.PALETTE[1], lw=0.9, label="its other hypotheses")
    figure_style.legend_above(drawn, axes)
    drawn.supylabel("cosine similarity with the last period", size=9, color=figure_style.INK)
    return drawn


def caption(study: StudyResults) -> str:
    """What is drawn, of which learner and seed, and what is cut."""
    stream = next(iter(study.streams))
    learner = _words.deciding(study, stream, "word-trajectories")
    seed = int(study.run(stream, learner)["seed"].values[0])
    store = study.streams[stream]
    number = len(store["word"])
    run = study.run(stream, learner).isel(seed=[0])
    story = _words.story(run, store)
    several = any(_others(run, word) for word in _chosen(study, story))
    others = "; thin lines: its others, the darker the more likely" if several else ""
    chosen = (
        "" if study.words else f" Those of content that move farthest. {_words.told_content(store)}"
    )
    shown = _chosen(study, story)
    absent = "" if story.there[:, shown].all() else "; none where the text does not have the word"
    return (
        f"{stream}, {study.label(learner)}, seed {seed}, {number:,} words. Hypotheses are those at"
        f" the end of the stream{others}; triangles and dotted lines: changes. Right: the"
        f" {NEIGHBOURS} nearest words by cosine in each segment's last period. Each period of a"
        f" segment has the vector of the segment's end{absent}.{chosen} {study.budget([stream])}"
    )


def _chosen(study: StudyResults, story: Story) -> list[int]:
    """The words' numbers, in the study's order or by how far they move in all."""
    absent = [word for word in study.words if word not in story.words]
    if absent:
        raise UserError(
            f"study {study.name}: {', '.join(map(repr, absent))} of its `words` is not in the"
            " vocabulary of the stream; take it out, or raise the stream's vocabulary_size"
        )
    if study.words:
        return [int(np.flatnonzero(story.words == word)[0]) for word in study.words]
    total = np.where(story.content, np.nansum(story.distance, axis=0), -1.0)
    return np.argsort(-total, kind="stable")[:SHOWN].tolist()


def _draw_word(
    axes: Axes, study: StudyResults, stream: str, run: xr.Dataset, story: Story, word: int
) -> None:
    edges, there = _edges(study.streams[stream]), story.there[:, word]
    for learner in study.learners:
        peer = study.run(stream, learner)
        if _filters(peer):
            every = trajectories.of_seed(peer.isel(word=[word]), 0)
            _line(axes, edges, there, every, 0, color="0.7", lw=2.2, label=study.label(learner))
            break
    weight = _weight(run, word)
    for k in _others(run, word):
        other = trajectories.of_seed(run.isel(word=[word]), 0, k)
        strength = 0.25 + 0.75 * float(weight[k] / weight[0])
        _line(axes, edges, there, other, 0, color=figure_style.PALETTE[1], lw=0.9, alpha=strength)
    label = "most likely hypothesis"
    _line(axes, edges, there, story.found, word, color=figure_style.PALETTE[0], lw=2, label=label)
    changed = story.found.changed[:, word] & story.known[:, word]
    top = axes.get_xaxis_transform()
    for edge in edges[:-1][changed]:
        axes.axvline(edge, color=figure_style.MUTED, lw=0.8, ls=":", zorder=0)
        # A step as high as the panel hides the line.
        axes.plot(edge, 1.0, "v", color=figure_style.MUTED, ms=4, clip_on=False, transform=top)
    margin = 0.02 * (edges[-1] - edges[0])
    axes.set_xlim(edges[0] - margin, edges[-1] + margin)
    # Words that hardly move shall look so.
    axes.set_ylim(min(axes.get_ylim()[0], HIGHEST_FLOOR), 1.03)


def _weight(run: xr.Dataset, word: int) -> np.ndarray:
    """Weight of each hypothesis of a word at the end, of the first seed."""
    return np.exp(run["info_log_weight"].isel(seed=0, task=-1, word=word).values)


def _others(run: xr.Dataset, word: int) -> list[int]:
    """The hypotheses beside the most likely one that are drawn, the faintest first."""
    weight = _weight(run, word)
    return [k for k in range(len(weight) - 1, 0, -1) if weight[k] > FAINTEST]


def _filters(run: xr.Dataset) -> bool:
    """Whether the run is of a learner that goes on from its posterior, such as VCL."""
    forgets = provenance.offering(run, "scratch") is not None
    return "info_mean" in run and not beam_lineage.decides(run) and not forgets


def _edges(store: xr.DataTree) -> np.ndarray:
    """Where each period starts, and where the last one ends [T + 1]."""
    first = np.asarray(store["first_year"].values)
    return np.append(first, first[-1] + int(store.attrs.get("period_years", 1)))


def _line(
    axes: Axes,
    edges: np.ndarray,
    there: np.ndarray,
    found: Trajectories,
    word: int,
    **style: object,
) -> None:
    """Similarity with the last period, in the periods [T] that have the word."""
    vectors = found.vector[found.segment[:, word]]
    near = np.where(there, trajectories.similarity(vectors, vectors[-1]), np.nan)
    ended = np.append(near, near[-1])
    axes.plot(edges, ended, drawstyle="steps-post", **style)  # type: ignore[arg-type]


def _write_segments(axes: Axes, story: Story, word: int) -> None:
    """The neighbours of each segment, one line each."""
    axes.set_axis_off()
    lines = [
        (_words.span(story.periods, one), ", ".join(one.neighbours))
        for one in _words.segments(story, word, NEIGHBOURS)
    ]
    left_out = len(lines) - LINES
    if left_out > 0:
        lines[LINES // 2 : -(LINES // 2)] = [("", f"({left_out} more segments)")]
    # A character of a segment's periods is .0135 of the panel wide.
    indent = max(0.24, 0.02 + 0.0135 * max(len(when) for when, _ in lines))
    for place, (when, near) in enumerate(lines):
        height = 1.0 - 0.125 * place
        for x, text, color in ((0, when, figure_style.MUTED), (indent, near, figure_style.INK)):
            axes.text(x, height, text, size=8, color=color, va="top", transform=axes.transAxes)
