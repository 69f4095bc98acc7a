"""Accuracy, both terms of the loss, and the noise of gradients during training, by epoch.

Fig. 7 of farquhar2020radial, on a stream whose tasks all show the same rows: values at the end of
a task are drawn at the number of epochs trained so far.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import UNBOUNDED, Bounds

FACTS = Facts(from_learner=("gradients",), uses=("accuracy",))

POSITIVE, PERCENT = (0.0, None), (0.0, 100.0)
PANELS = (
    "accuracy: test, training (dashed)",
    "likelihood, divergence (dashed)",
    "noise of the gradient",
)
LABELS = ("accuracy (%)", "nats per training row", "standard deviation")


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw three panels per stream. Raises UserError without a run that measures gradients."""
    study.require_metrics("training-dynamics", *FACTS.uses)
    runs = _runs(study)
    figure = figure_style.figure(3.6 * len(runs) + 0.2, _foot(study), study.basis(list(runs)))
    letters = iter(figure_style.panel_letters(len(runs) * len(PANELS)))
    for stream, block in figure_style.divide(figure, runs):
        figure_style.set_message(block, message(study, stream))
        panels = block.subplots(1, len(PANELS))
        for name, run in runs[stream].items():
            _draw_method(panels, study, stream, name, run)
        for panel, title, label in zip(panels, PANELS, LABELS, strict=True):
            panel.set(xlabel="epoch", ylabel=label)
            figure_style.set_title(panel, next(letters), title)
        panels[1].set_yscale("log")
        panels[2].set_yscale("log")
        panels[2].legend()
    return figure


def caption(study: StudyResults) -> str:
    """Say who ends best, describe the curves, the gradients and the reductions."""
    messages = [message(study, stream) for stream in _runs(study)]
    return f"{'. '.join(messages)}. {_foot(study)}"


def message(study: StudyResults, stream: str) -> str:
    """Say which test accuracy each method has at the end of training, best first."""
    runs = _runs(study)[stream]
    ends = {
        name: statistics.interval(study.by_task(stream, name, "accuracy")[:, -1]).times(100).mean
        for name in runs
    }
    order = highlights.leaders(_best.ranked(study, ends), len(ends))
    if not order:
        return f"{stream}: no method has a test accuracy at the end of training"
    epochs = {int(_epochs(study, stream, runs[name])[-1]) for name in order}
    when = "at the end of training"
    if len(epochs) == 1:
        (number,) = epochs
        when = f"after {number:,} epoch{'s' * (number > 1)}"
    first, *others = [f"{ends[name]:.1f} %" for name in order[: highlights.MOST]]
    text = f"{stream}: {when} {study.label(order[0])} has a test accuracy of {first}"
    for name, accuracy in zip(order[1:], others, strict=False):
        text += f", {study.label(name)} {accuracy}"
    most = f" (the best {highlights.MOST} of {len(order)} methods)"
    return text + most * (len(order) > highlights.MOST)


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    runs = _runs(study)
    draws = sorted(
        {_settings(run)["gradient_draws"] for by_name in runs.values() for run in by_name.values()}
    )
    return (
        f"As Fig. 7 of {bibliography.short('farquhar2020radial')}: a, of test rows and (dashed) "
        "of those "
        "trained on; b, the expected negative log likelihood and (dashed) the divergence from the "
        "prior; c, of the likelihood's gradient in the means on one minibatch, over "
        f"{' or '.join(map(str, draws))} draws, root mean square over parameters. Mean over seeds; "
        f"{figure_style.spread_note(study, '95 % interval')}. The optimiser's moments start anew "
        "at each "
        "point. "
        f"{study.basis(list(runs))}"
    )


def _runs(study: StudyResults) -> dict[str, dict[str, xr.Dataset]]:
    """Return the runs that measure the noise of gradients, by stream and method."""
    if runs := study.offering("gradients"):
        return runs
    raise study.lacking("training-dynamics", "a method with gradient_draws above 0")


def _settings(run: xr.Dataset) -> dict[str, Any]:
    return provenance.offering(run, "gradients") or {}


def _epochs(study: StudyResults, stream: str, run: xr.Dataset) -> np.ndarray:
    """Return the number of epochs so far at the end of each task."""
    return _settings(run)["epochs"] * np.arange(1, study.streams[stream].sizes["task"] + 1)


def _draw_method(
    panels: np.ndarray, study: StudyResults, stream: str, name: str, run: xr.Dataset
) -> None:
    store = study.streams[stream]
    rows = provenance.reader(store).problem(store).n_train
    epochs = _epochs(study, stream, run)
    style = figure_style.method_style(study, name) | {"label": study.label(name)}
    draw = partial(_draw_curve, epochs=epochs, style=style)
    test, train = study.by_task(stream, name, "accuracy"), _info(run, "train_accuracy")
    draw(panels[0], 100 * test, PERCENT)
    draw(panels[0], 100 * train, PERCENT, dashes="--")
    nll, kl = -_info(run, "expected_log_likelihood") / rows, _info(run, "kl") / rows
    draw(panels[1], nll, POSITIVE)
    draw(panels[1], kl, UNBOUNDED, dashes="--")
    draw(panels[2], _info(run, "gradient_sd"), POSITIVE)


def _info(run: xr.Dataset, field: str) -> np.ndarray:
    """Return an info of the only hypothesis [seed, task]."""
    return run[f"info_{field}"].isel(hypothesis=0).transpose("seed", "task").values


def _draw_curve(
    panel: Axes,
    values: np.ndarray,
    within: Bounds,
    epochs: np.ndarray,
    style: dict[str, Any],
    dashes: str = "-",
) -> None:
    """Draw the mean over seeds of values [seed, task], and their spread."""
    band = statistics.band(values, within)
    markers = figure_style.marker_positions(0, 1, len(epochs))
    panel.plot(epochs, band.mean, **style, ls=dashes, ms=3.5, markevery=markers)
    figure_style.draw_spread(panel, epochs, values, band, style["color"])
