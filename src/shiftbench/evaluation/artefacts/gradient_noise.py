"""Noise of gradients at the start of training, against the width of the weights' posterior.

Fig. 6 of farquhar2020radial, for each posterior family that a run measures; beside it the cross
entropy with a radial prior, as in eq. 44 and with the Jacobian that eq. 44 lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.config.compatibility_words import listed
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _best
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(from_learner=("gradients_at_start",))

POSITIVE = (0.0, None)
DENSITIES = {
    "published": {"label": "eq. 44", "color": figure_style.COLOURS["purple"], "marker": "v"},
    "full": {"label": "with the Jacobian", "color": figure_style.COLOURS["red"], "marker": "^"},
}
THRESHOLD = 0.3
"""Standard deviation at which the paper sees mean-field gradients explode."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw two panels per stream. Raises UserError without a run that measures gradients."""
    runs = _runs(study)
    height = 3.4 * len(runs) + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study), study.basis(list(runs)))
    figure_style.set_message(figure, message(study))
    rows = figure.subplots(len(runs), 2, squeeze=False)
    letters = figure_style.panel_letters(rows.size)
    for number, ((stream, of_stream), panels) in enumerate(zip(runs.items(), rows, strict=True)):
        for name, run in of_stream.items():
            style = figure_style.method_style(study, name) | {"label": study.label(name)}
            _draw_curve(panels[0], run, "gradient_sd", style)
            for density, style in DENSITIES.items():
                if f"info_{density}_sd" in run:
                    _draw_curve(panels[1], run, f"{density}_sd", style)
        titles = (
            f"gradient of the negative log likelihood, {stream}",
            "gradient of the cross entropy with a radial prior",
        )
        for letter, panel, title in zip(letters[2 * number :], panels, titles, strict=False):
            panel.set(xscale="log", yscale="log", xlabel="standard deviation of the weights")
            panel.set_ylabel("standard deviation of the gradient")
            figure_style.set_title(panel, letter, title)
        panels[0].axvline(THRESHOLD, color=figure_style.MUTED, lw=0.8, ls=":")
        _add_legends(panels)
    return figure


def caption(study: StudyResults) -> str:
    """Say how much the noise grows, describe the spread, the draws and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say by which factor the noise grows with the widest weights, on each stream."""
    return ". ".join(_growth(study, stream, of) for stream, of in _runs(study).items())


def _growth(study: StudyResults, stream: str, runs: dict[str, xr.Dataset]) -> str:
    """Return the sentence on a stream. runs: by method."""
    factors, ends = {}, set()
    for name, run in runs.items():
        sds, band = _curve(run, "gradient_sd")[:2]
        factors[name] = band.mean[-1] / band.mean[0]
        ends.add((sds[0], sds[-1]))
    order = sorted(factors, key=lambda name: -factors[name])
    rounded = {name: _best.number(float(f"{factors[name]:.2g}")) for name in order}
    grown = listed(f"{rounded[name]} with {study.label(name)}" for name in order)
    widths = " or ".join(f"{low:g} to {high:g}" for low, high in sorted(ends))
    return (
        f"{stream}: as the weights' standard deviation grows from {widths}, that of the gradient"
        f" grows by a factor of {grown}"
    )


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    runs = _runs(study)
    settings = [_settings(run) for of_stream in runs.values() for run in of_stream.values()]
    layers = sorted({each["layer"] or "all layers" for each in settings})
    numbers = sorted({each["draws"] for each in settings})
    source = bibliography.short("farquhar2020radial")
    return (
        f"Root mean square over the weights of {', '.join(layers)} of the gradient's standard "
        f"deviation over {' or '.join(map(str, numbers))} draws, at means that training starts "
        f"from, as in Fig. 6 of {source}; dotted: where it sees an explosion. Right: of a prior "
        "around other such means, in nats, undivided by rows. Mean over seeds; "
        f"{figure_style.spread_note(study, '95 % interval (Student t on the log scale)')}. "
        f"{study.basis(list(runs))}"
    )


def _runs(study: StudyResults) -> dict[str, dict[str, xr.Dataset]]:
    """Return the runs that measure gradients at the start, by stream and method."""
    if runs := study.offering("gradients_at_start"):
        return runs
    raise study.lacking("gradient-noise", "a method that measures gradients at the start")


def _settings(run: xr.Dataset) -> dict[str, Any]:
    return provenance.offering(run, "gradients_at_start") or {}


def _draw_curve(panel: Axes, run: xr.Dataset, field: str, style: dict[str, Any]) -> None:
    """Draw the mean over tasks and seeds, with its spread, against the sd of the weights."""
    sds, band, values = _curve(run, field)
    panel.plot(sds, band.mean, ms=4, **style)
    figure_style.draw_spread(panel, sds, values, band, style["color"], 0.25)


def _curve(run: xr.Dataset, field: str) -> tuple[np.ndarray, statistics.Band, np.ndarray]:
    """Return standard deviations of weights, rising, with the mean over tasks: band and seeds."""
    values = run[f"info_{field}"].transpose("seed", "task", "hypothesis").mean("task").values
    sds = np.array(_settings(run)["sds"])
    order = np.argsort(sds)
    band = statistics.band(values, POSITIVE)
    return sds[order], statistics.Band(*(each[order] for each in band)), values[:, order]


def _add_legends(panels: np.ndarray) -> None:
    for panel in panels:
        if panel.get_legend_handles_labels()[0]:
            panel.legend(loc="upper left")
        else:
            panel.set_axis_off()
