"""A series with the changepoints that each learner finds, and their run-length posteriors.

Fig. 1B, 4 and 5 of knoblauch2018robust. Top: the values, with what is known about changes. For each
learner below: the run-length posterior (darker: more probable), its largest value at each
step, and the changepoints of the most probable segmentation; where the learner has several
models, their posterior too. One realisation, the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring import segmentation
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
REQUIRES = ("series",)
REFUSES = ("blocks",)
FROM = ("run_length",)

COLUMNS, ROWS = 900, 120
"""Cells of a picture of a run-length posterior; a longer series shows the largest in a cell."""
FAINTEST = 1e-4
"""Probabilities below this are white."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """One block a stream; UserError where no learner keeps run lengths."""
    shown = _learners(study)
    models = {name for name in shown if _models(study, next(iter(study.streams)), name) > 1}
    heights = [2.0] + [height for name in shown for height in ([1.3, 0.7][: 1 + (name in models)])]
    total = sum(heights) + 0.3 * len(heights)
    drawn = figure_style.figure(total * len(study.streams), caption(study), study.budget())
    blocks = drawn.subfigures(len(study.streams), 1, squeeze=False)[:, 0]
    for block, stream in zip(blocks, study.streams, strict=True):
        panels = block.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        _draw_series(panels[0], study, stream)
        place = 1
        for letter, name in enumerate(shown):
            _draw_run_lengths(panels[place], study, stream, name, "bcdefghij"[letter])
            place += 1
            if name in models:
                _draw_models(panels[place], study, stream, name)
                place += 1
        panels[-1].set(
            xlabel=_series.label(study.streams[stream]), xlim=_span(study.streams[stream])
        )
    return drawn


def caption(study: StudyResults) -> str:
    """What is drawn, what is known, on how many runs, and what is cut."""
    stores = study.streams.values()
    several = any(store["value"].values[0].shape[1] > 1 for store in stores)
    changes = any(_known(store).any() for store in stores)
    events = any("event" in store for store in stores)
    series = "the series, all of them thin, and their mean" if several else "the series"
    return (
        f"Top: {series}{'; dotted: true, accepted or annotated changes' * changes}"
        f"{'; dashed: an event' * events}. Below, for each learner: posterior of the run "
        f"length, darker is more probable, white below {FAINTEST:g}; line: the most probable run "
        "length at each step; marks at the top: changepoints of the most probable segmentation, "
        f"read backwards from the end. First realisation. {study.budget()}"
    )


def _learners(study: StudyResults) -> list[str]:
    """The learners that keep run lengths."""
    shown = [name for name in study.learners if _keeps_run_lengths(study, name)]
    if not shown:
        raise study.lacking("segmentation", "a learner inside run-length that did not fail")
    return shown


def _keeps_run_lengths(study: StudyResults, learner: str) -> bool:
    """Whether there are some on every stream: a learner whose runs all failed has none."""
    runs = [study.run(stream, learner) for stream in study.streams]
    return all(run.sizes["seed"] and "info_run_length" in run for run in runs)


def _models(study: StudyResults, stream: str, learner: str) -> int:
    return int(np.nanmax(study.run(stream, learner)["info_model"].values)) + 1


def _span(store: xr.Dataset) -> tuple[Any, Any]:
    """The first value and the end of the last."""
    labels = _series.axis(store)
    return labels[0], labels[-1] + (labels[-1] - labels[-2])


def _draw_series(panel: Axes, study: StudyResults, stream: str) -> None:
    store = study.streams[stream]
    value, label = _series.drawn(store)
    thin = value.shape[1] > 1
    style: dict[str, Any] = {"lw": 0.5, "alpha": 0.6} if thin else {"lw": 0.7}
    panel.plot(_series.axis(store), value, color=figure_style.MUTED if thin else "black", **style)
    if thin:
        panel.plot(_series.axis(store), value.mean(axis=1), color="black", lw=1.0)
    times = _series.of_tasks(store)
    for task in np.flatnonzero(_known(store)):
        panel.axvline(times[task], color=figure_style.PALETTE[0], lw=0.9, ls=":")
    if "event" in store:
        for task in np.flatnonzero(store["event"].values):
            panel.axvline(times[task], color=figure_style.PALETTE[1], lw=1.2, ls="--")
            words = store["event"].attrs["long_name"]
            panel.text(times[task], 1.0, f" {words}", size=7.5, va="top",
                       transform=panel.get_xaxis_transform())  # fmt: skip
    panel.set_ylabel(label)
    figure_style.title(panel, "a", stream)


def _known(store: xr.Dataset) -> np.ndarray:
    """Whether a change at each task is true, accepted or annotated [task]."""
    known = store["annotation"].any("annotator") if "annotation" in store else store["shift"][0]
    return known.values


def _draw_run_lengths(
    panel: Axes, study: StudyResults, stream: str, learner: str, letter: str
) -> None:
    store, run = study.streams[stream], study.run(stream, learner).isel(seed=slice(0, 1))
    times = _series.of_tasks(store)
    length = run["info_run_length"].values[0].astype(int)
    weight = np.exp(run["info_log_weight"].values[0])
    picture, longest = _picture(length, weight)
    right = times[-1] + (times[-1] - times[-2])
    panel.pcolormesh(
        _edges(times, right, picture.shape[1]),
        np.linspace(0, longest + 1, picture.shape[0] + 1),
        picture,
        cmap="Greys",
        norm=LogNorm(FAINTEST, 1, clip=True),
        rasterized=True,
    )
    most = segmentation.run_length_argmax(run)
    assert most is not None
    panel.plot(times, most[0], color=figure_style.PALETTE[3], lw=0.7)
    (found,) = segmentation.changepoints(run) or []
    for task in found:
        panel.plot(times[task], 1.0, "v", color=figure_style.PALETTE[2], ms=4, clip_on=False,
                   transform=panel.get_xaxis_transform())  # fmt: skip
    zeros = int((most[0] == 0).sum())
    words = (
        f"{study.label(learner)}: {len(found)} changepoint{'s' * (len(found) != 1)}, most "
        f"probable run length 0 at {zeros} step{'s' * (zeros != 1)}"
    )
    figure_style.title(panel, letter, words)
    panel.set_ylabel("run length")


def _picture(length: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, int]:
    """Largest posterior probability in each cell [rows, columns], and the longest run."""
    tasks, longest = len(length), int(length[weight > FAINTEST].max())
    columns, rows = min(tasks, COLUMNS), min(longest + 1, ROWS)
    by_length = np.zeros((rows, columns))
    task = np.broadcast_to(np.arange(tasks)[:, None], length.shape)
    shown = weight > FAINTEST
    cell = (length * rows // (longest + 1), task * columns // tasks)
    np.maximum.at(by_length, (cell[0][shown], cell[1][shown]), weight[shown])
    return by_length, longest


def _edges(times: np.ndarray, right: Any, columns: int) -> np.ndarray:
    """Left edges of the columns, and the right edge of the last."""
    starts = -(-np.arange(columns) * len(times) // columns)
    return np.append(times[starts], right)


def _draw_models(panel: Axes, study: StudyResults, stream: str, learner: str) -> None:
    """Posterior of the models, stacked."""
    store, run = study.streams[stream], study.run(stream, learner)
    weight = np.exp(run["info_log_weight"].values[0])
    model = run["info_model"].values[0].astype(int)
    names = store["model"].values
    share = np.stack([(weight * (model == m)).sum(axis=1) for m in range(len(names))])
    panel.stackplot(
        _series.of_tasks(store),
        share,
        labels=names,
        colors=figure_style.PALETTE[: len(names)],
        alpha=0.8,
        lw=0,
    )
    panel.set(ylim=(0, 1), ylabel="models")
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
