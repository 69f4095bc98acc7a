"""Series with the changepoints that each method finds, and its run-length posterior.

Fig. 1B, 4 and 5 of knoblauch2018robust. Top: the values, with the known changes. Below, for each
method: the run-length posterior (darker: more probable), its most probable value at each step,
and the changepoints of the most probable segmentation; for a method with several models, their
posterior too. All are of the first realisation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _change_lines, _series
from shiftbench.evaluation.scoring import segmentation
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("series",), refuses=("blocks",), from_learner=("run_length",))

COLUMNS, ROWS = 900, 120
"""Largest number of cells of a run-length posterior; in larger cells the largest value is shown."""
FAINTEST = 1e-4
"""Probabilities below this are white."""
KINDS = {"known": "true", "accepted": "accepted", "annotated": "annotated"}
"""The adjective for the known changes of a stream, by its attribute `truth`."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without a method with run lengths."""
    methods = _methods_with_run_lengths(study)
    models = {name for name in methods if _models(study, next(iter(study.streams)), name) > 1}
    heights = [2.0] + [
        height for name in methods for height in ([1.3, 0.7][: 1 + (name in models)])
    ]
    total = sum(heights) + 0.3 * len(heights) + figure_style.MESSAGE
    figure = figure_style.figure(total * len(study.streams), _foot(study), study.basis())
    letters = iter(figure_style.panel_letters((1 + len(methods)) * len(study.streams)))
    for stream, block in figure_style.divide(figure, study.streams):
        figure_style.set_message(block, _message(study, stream))
        panels = block.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        remaining = iter(panels)
        _draw_series(next(remaining), study, stream, next(letters))
        for name in methods:
            _draw_run_lengths(next(remaining), study, stream, name, next(letters))
            if name in models:
                _draw_models(next(remaining), study, stream, name)
        panels[-1].set(
            xlabel=_series.axis_label(study.streams[stream]), xlim=_span(study.streams[stream])
        )
    return figure


def caption(study: StudyResults) -> str:
    """Count the changes, describe the panels, the number of runs and the reductions."""
    return "".join(f"{_message(study, stream)}. " for stream in study.streams) + _foot(study)


def _message(study: StudyResults, stream: str) -> str:
    """Say how many changes each method infers on a stream, and how many are known."""
    said = _change_lines.counts(study, stream, _methods_with_run_lengths(study))
    store = study.streams[stream]
    known = int(_known_changes(store).sum())
    return f"{said}; {_change_lines.there_are(known, _kind(store))}" if known else said


def _kind(store: xr.Dataset) -> str:
    """Return what the known changes of a stream are: true, accepted or annotated."""
    return KINDS["annotated"] if "annotation" in store else KINDS.get(store.attrs["truth"], "true")


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    stores = study.streams.values()
    several = any(store["value"].values[0].shape[1] > 1 for store in stores)
    kinds = dict.fromkeys(_kind(store) for store in stores if _known_changes(store).any())
    dotted = f"; dotted: {' or '.join(kinds)} changes" if kinds else ""
    events = any("event" in store for store in stores)
    series = "the series, all of them thin, and their mean" if several else "the series"
    return (
        f"Top: {series}{dotted}"
        f"{'; dashed: an event' * events}. Below, for each method: posterior of the run "
        f"length, darker is more probable, white below {FAINTEST:g}; line: the most probable run "
        "length at each step; marks at the top: changepoints of the most probable segmentation, "
        f"found by backtracking from the end. First realisation. {study.basis()}"
    )


def _methods_with_run_lengths(study: StudyResults) -> list[str]:
    """Return the methods with run lengths on every stream, which failed runs lack."""
    runs = {name: [_run(study, stream, name) for stream in study.streams] for name in study.methods}
    methods = [
        name
        for name, of_streams in runs.items()
        if all(run.sizes["seed"] and "info_run_length" in run for run in of_streams)
    ]
    if not methods:
        raise study.lacking("segmentation", "a learner inside run-length that did not fail")
    return methods


def _run(study: StudyResults, stream: str, method: str) -> xr.Dataset:
    """Return the run of the first seed on the first realisation, whose values are drawn."""
    return _series.first_seed(study.run(stream, method))


def _models(study: StudyResults, stream: str, method: str) -> int:
    return int(np.nanmax(study.run(stream, method)["info_model"].values)) + 1


def _span(store: xr.Dataset) -> tuple[Any, Any]:
    """Return the time of the first value, and the end of the last."""
    labels = _series.axis(store)
    return labels[0], labels[-1] + (labels[-1] - labels[-2])


def _draw_series(panel: Axes, study: StudyResults, stream: str, letter: str) -> None:
    store = study.streams[stream]
    value, label = _series.plotted(store)
    thin = value.shape[1] > 1
    style: dict[str, Any] = {"lw": 0.5, "alpha": 0.6} if thin else {"lw": 0.7}
    panel.plot(_series.axis(store), value, color=figure_style.MUTED if thin else "black", **style)
    if thin:
        panel.plot(_series.axis(store), value.mean(axis=1), color="black", lw=1.0)
    times = _series.task_times(store)
    for task in np.flatnonzero(_known_changes(store)):
        panel.axvline(times[task], color=figure_style.PALETTE[0], lw=0.9, ls=":")
    if "event" in store:
        for task in np.flatnonzero(store["event"].values):
            panel.axvline(times[task], color=figure_style.PALETTE[1], lw=1.2, ls="--")
            event = store["event"].attrs["long_name"]
            panel.text(times[task], 1.0, f" {event}", size=7.5, va="top",
                       transform=panel.get_xaxis_transform())  # fmt: skip
    panel.set_ylabel(label)
    if np.nanmax(np.abs(value)) >= 1000:
        panel.yaxis.set_major_formatter(figure_style.THOUSANDS)
    figure_style.set_title(panel, letter, stream)


def _known_changes(store: xr.Dataset) -> np.ndarray:
    """Return whether a change at each task is true, accepted or annotated [task]."""
    marks = store["annotation"].any("annotator") if "annotation" in store else store["shift"][0]
    return marks.values


def _draw_run_lengths(
    panel: Axes, study: StudyResults, stream: str, method: str, letter: str
) -> None:
    store, run = study.streams[stream], _run(study, stream, method)
    times = _series.task_times(store)
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
    most_probable = segmentation.run_length_argmax(run)
    assert most_probable is not None
    known = np.where(most_probable[0] < 0, np.nan, most_probable[0])
    panel.plot(times, known, color=figure_style.PALETTE[3], lw=0.7)
    (changes,) = segmentation.changepoints(run) or []
    for task in changes:
        panel.plot(times[task], 1.0, "v", color=figure_style.PALETTE[2], ms=4, clip_on=False,
                   transform=panel.get_xaxis_transform())  # fmt: skip
    zeros = int((most_probable[0] == 0).sum())
    title = (
        f"{study.label(method)}: {len(changes)} changepoint{'s' * (len(changes) != 1)}, most "
        f"probable run length 0 at {zeros} step{'s' * (zeros != 1)}"
    )
    figure_style.set_title(panel, letter, title)
    panel.set_ylabel("run length\n(steps)")


def _picture(length: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the largest probability in each cell [rows, columns], and the longest run."""
    tasks, longest = len(length), int(length[weight > FAINTEST].max())
    columns, rows = min(tasks, COLUMNS), min(longest + 1, ROWS)
    by_length = np.zeros((rows, columns))
    task = np.broadcast_to(np.arange(tasks)[:, None], length.shape)
    visible = weight > FAINTEST
    cell = (length * rows // (longest + 1), task * columns // tasks)
    np.maximum.at(by_length, (cell[0][visible], cell[1][visible]), weight[visible])
    return by_length, longest


def _edges(times: np.ndarray, right: Any, columns: int) -> np.ndarray:
    """Return the left edges of the columns, and the right edge of the last."""
    starts = -(-np.arange(columns) * len(times) // columns)
    return np.append(times[starts], right)


def _draw_models(panel: Axes, study: StudyResults, stream: str, method: str) -> None:
    """Draw the posterior of the models, stacked."""
    store, run = study.streams[stream], _run(study, stream, method)
    weight = np.exp(run["info_log_weight"].values[0])
    model = run["info_model"].values[0].astype(int)
    names = store["model"].values
    share = 100 * np.stack([(weight * (model == m)).sum(axis=1) for m in range(len(names))])
    panel.stackplot(
        _series.task_times(store),
        share,
        labels=names,
        colors=figure_style.PALETTE[: len(names)],
        alpha=0.8,
        lw=0,
    )
    panel.set(ylim=(0, 100), ylabel="models\n(%)")
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
