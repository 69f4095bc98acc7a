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
from shiftbench.evaluation import figure_style
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
    figure = figure_style.figure(3.3 * len(runs) + 0.2, caption(study), study.basis(list(runs)))
    rows = figure.subplots(len(runs), len(PANELS), squeeze=False)
    letters = figure_style.panel_letters(rows.size)
    for row, ((stream, of_stream), panels) in enumerate(zip(runs.items(), rows, strict=True)):
        for name, run in of_stream.items():
            _draw_learner(panels, study, stream, name, run)
        for k, (panel, title, label) in enumerate(zip(panels, PANELS, LABELS, strict=True)):
            panel.set(xlabel="epoch", ylabel=label)
            letter = letters[len(PANELS) * row + k]
            figure_style.set_title(panel, letter, title if len(runs) == 1 else f"{title}, {stream}")
        panels[1].set_yscale("log")
        panels[2].set_yscale("log")
        panels[2].legend()
    return figure


def caption(study: StudyResults) -> str:
    """Describe the curves, the gradients and the reductions."""
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
    """Return the runs that measure the noise of gradients, by stream and learner."""
    if runs := study.offering("gradients"):
        return runs
    raise study.lacking("training-dynamics", "a learner with gradient_draws above 0")


def _settings(run: xr.Dataset) -> dict[str, Any]:
    return provenance.offering(run, "gradients") or {}


def _draw_learner(
    panels: np.ndarray, study: StudyResults, stream: str, name: str, run: xr.Dataset
) -> None:
    store = study.streams[stream]
    rows = provenance.reader(store).problem(store).n_train
    epochs = _settings(run)["epochs"] * np.arange(1, store.sizes["task"] + 1)
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
