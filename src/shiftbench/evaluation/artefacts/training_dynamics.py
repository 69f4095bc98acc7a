"""How training goes on: accuracy, both terms of the loss, and the noise of gradients, by epoch.

Fig. 7 of farquhar2020radial, on a stream whose tasks all show the same rows: what a learner tells
at the end of a task stands at the epoch that it has come to.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.scoring.statistics import UNBOUNDED, Bounds

KIND = "figure"
FROM = ("gradients",)
USES = ("accuracy",)

POSITIVE, PERCENT = (0.0, None), (0.0, 100.0)
PANELS = (
    "accuracy: test, training (dashed)",
    "likelihood, divergence (dashed)",
    "noise of the gradient",
)
LABELS = ("accuracy (%)", "nats per training row", "standard deviation")


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, three panels beside each other for each stream; UserError without such runs."""
    study.require_metrics("training-dynamics", *USES)
    runs = _runs(study)
    drawn = figure_style.figure(3.3 * len(runs) + 0.2, caption(study), study.budget(list(runs)))
    rows = drawn.subplots(len(runs), len(PANELS), squeeze=False)
    letters = figure_style.letters(rows.size)
    for place, ((stream, of_stream), panels) in enumerate(zip(runs.items(), rows, strict=True)):
        for name, run in of_stream.items():
            _draw_learner(panels, study, stream, name, run)
        for k, (panel, title, label) in enumerate(zip(panels, PANELS, LABELS, strict=True)):
            panel.set(xlabel="epoch", ylabel=label)
            letter = letters[len(PANELS) * place + k]
            figure_style.title(panel, letter, title if len(runs) == 1 else f"{title}, {stream}")
        panels[1].set_yscale("log")
        panels[2].set_yscale("log")
        panels[2].legend()
    return drawn


def caption(study: StudyResults) -> str:
    """What the curves are, where the gradients are taken, and what is cut."""
    runs = _runs(study)
    draws = sorted(
        {_settings(run)["gradient_draws"] for one in runs.values() for run in one.values()}
    )
    return (
        f"As Fig. 7 of {bibliography.short('farquhar2020radial')}: a, of test rows and (dashed) "
        "of those "
        "trained on; b, the expected negative log likelihood and (dashed) the divergence from the "
        "prior; c, of the likelihood's gradient in the means on one minibatch, over "
        f"{' or '.join(map(str, draws))} draws, root mean square over parameters. Mean over seeds; "
        f"{figure_style.spread_told(study, '95 % interval')}. The optimiser's moments start anew "
        "at each "
        "point. "
        f"{study.budget(list(runs))}"
    )


def _runs(study: StudyResults) -> dict[str, dict[str, xr.Dataset]]:
    """By stream and learner, those that tell the noise of their gradients."""
    found = study.offering("gradients")
    if not found:
        raise study.lacking("training-dynamics", "a learner with gradient_draws above 0")
    return found


def _settings(run: xr.Dataset) -> dict[str, Any]:
    found = provenance.offering(run, "gradients")
    assert found is not None
    return found


def _draw_learner(
    panels: np.ndarray, study: StudyResults, stream: str, name: str, run: xr.Dataset
) -> None:
    store = study.streams[stream]
    rows = provenance.reader(store).problem(store).n_train
    epochs = _settings(run)["epochs"] * np.arange(1, store.sizes["task"] + 1)
    look = figure_style.look(study, name) | {"label": study.label(name)}
    draw = partial(_curve, epochs=epochs, look=look)
    test, train = study.by_task(stream, name, "accuracy"), _of(run, "train_accuracy")
    draw(panels[0], 100 * test, PERCENT)
    draw(panels[0], 100 * train, PERCENT, style="--")
    nll, kl = -_of(run, "expected_log_likelihood") / rows, _of(run, "kl") / rows
    draw(panels[1], nll, POSITIVE)
    draw(panels[1], kl, UNBOUNDED, style="--")
    draw(panels[2], _of(run, "gradient_sd"), POSITIVE)


def _of(run: xr.Dataset, field: str) -> np.ndarray:
    """A number of the only hypothesis [seed, task]."""
    return run[f"info_{field}"].isel(hypothesis=0).transpose("seed", "task").values


def _curve(
    panel: Axes,
    values: np.ndarray,
    within: Bounds,
    epochs: np.ndarray,
    look: dict[str, Any],
    style: str = "-",
) -> None:
    """The mean over seeds of values [seed, task], and how far seeds lie apart."""
    band = statistics.band(values, within)
    panel.plot(
        epochs, band.mean, **look, ls=style, ms=3.5, markevery=figure_style.apart(0, 1, len(epochs))
    )
    figure_style.spread(panel, epochs, values, band, look["color"])
