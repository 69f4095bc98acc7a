"""How training goes on: accuracy, both terms of the loss, and the noise of gradients, by epoch.

Fig. 7 of farquhar2020radial, on a stream whose tasks all show the same rows: what a learner tells
at the end of a task stands at the epoch that it has come to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.artefacts import _style
from shiftbench.planning import provenance, works
from shiftbench.scoring import statistics
from shiftbench.scoring.results import StudyResults

KIND = "figure"
FROM = ("gradients",)
USES = ("accuracy",)

POSITIVE = (0.0, None)
PANELS = ("accuracy", "terms of the loss", "noise of the gradient")
LABELS = ("accuracy (%)", "nats per training row", "standard deviation")


@_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, three panels beside each other for each stream; UserError without such runs."""
    study.require_metrics("training-dynamics", *USES)
    runs = _runs(study)
    drawn = _style.figure(3.3 * len(runs) + 0.2, caption(study))
    rows = drawn.subplots(len(runs), len(PANELS), squeeze=False)
    for place, ((stream, of_stream), panels) in enumerate(zip(runs.items(), rows, strict=True)):
        for name, run in of_stream.items():
            _draw_learner(panels, study, stream, name, run)
        for k, (panel, title, label) in enumerate(zip(panels, PANELS, LABELS, strict=True)):
            panel.set(xlabel="epoch", ylabel=label)
            letter = "abcdefghi"[len(PANELS) * place + k]
            _style.title(panel, letter, title if len(runs) == 1 else f"{title}, {stream}")
        panels[1].set_yscale("log")
        panels[2].set_yscale("log")
        for panel in panels:
            panel.legend()
    return drawn


def caption(study: StudyResults) -> str:
    """What the curves are, where the gradients are taken, and what is cut."""
    runs = _runs(study)
    draws = sorted(
        {_settings(run)["gradient_draws"] for one in runs.values() for run in one.values()}
    )
    return (
        f"As Fig. 7 of {works.short('farquhar2020radial')}: a, of test rows and (dashed) of those "
        "trained on; b, the expected negative log likelihood and (dashed) the divergence from the "
        "prior; c, of the likelihood's gradient in the means on one minibatch, over "
        f"{' or '.join(map(str, draws))} draws, root mean square over parameters. Mean over seeds, "
        f"band: 95 % interval. The optimiser's moments start anew at each point. "
        f"{study.budget(list(runs))}"
    )


def _runs(study: StudyResults) -> dict[str, dict[str, xr.Dataset]]:
    """By stream and learner, those that tell the noise of their gradients."""
    found: dict[str, dict[str, xr.Dataset]] = {}
    for stream in study.streams:
        for name in study.learners:
            run = study.run(stream, name)
            if provenance.offering(run, "gradients") is not None and run.sizes["seed"]:
                found.setdefault(stream, {})[name] = run
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
    colour, label = _style.look(study, name)["color"], study.label(name)
    percent = statistics.bounds("accuracy")
    test = statistics.band(study.by_task(stream, name, "accuracy"), percent).times(100)
    _curve(panels[0], epochs, test, colour, f"{label}, test")
    train = statistics.band(_of(run, "train_accuracy"), percent).times(100)
    _curve(panels[0], epochs, train, colour, f"{label}, training", "--")
    nll = statistics.band(-_of(run, "expected_log_likelihood") / rows, POSITIVE)
    _curve(panels[1], epochs, nll, colour, f"{label}, likelihood")
    kl = statistics.band(_of(run, "kl") / rows)
    _curve(panels[1], epochs, kl, colour, f"{label}, divergence", "--")
    _curve(panels[2], epochs, statistics.band(_of(run, "gradient_sd"), POSITIVE), colour, label)


def _of(run: xr.Dataset, field: str) -> np.ndarray:
    """A number of the only hypothesis [seed, task]."""
    return run[f"info_{field}"].isel(hypothesis=0).transpose("seed", "task").values


def _curve(
    panel: Axes,
    epochs: np.ndarray,
    band: statistics.Band,
    colour: Any,
    label: str,
    style: str = "-",
) -> None:
    panel.plot(epochs, band.mean, color=colour, ls=style, label=label)
    panel.fill_between(epochs, band.low, band.high, color=colour, alpha=0.15, lw=0)
