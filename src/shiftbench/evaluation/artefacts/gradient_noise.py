"""How noisy gradients are at the start of training, against the width of the weights' posterior.

Fig. 6 of farquhar2020radial, for each family that a run measures; beside it the cross entropy with
a radial prior, as eq. 44 has it and with the Jacobian that eq. 44 lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
FROM = ("gradients_at_start",)

POSITIVE = (0.0, None)
DENSITIES = {
    "published": {"label": "eq. 44", "color": figure_style.COLOURS["purple"], "marker": "v"},
    "full": {"label": "with the Jacobian", "color": figure_style.COLOURS["red"], "marker": "^"},
}
THRESHOLD = 0.3
"""Where the paper sees mean-field gradients explode."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, a row of two panels for each stream; UserError without such runs."""
    runs = _runs(study)
    drawn = figure_style.figure(3.4 * len(runs), caption(study), study.budget(list(runs)))
    rows = drawn.subplots(len(runs), 2, squeeze=False)
    letters = figure_style.letters(rows.size)
    for place, ((stream, of_stream), panels) in enumerate(zip(runs.items(), rows, strict=True)):
        for name, run in of_stream.items():
            looks = figure_style.look(study, name) | {"label": study.label(name)}
            _curve(panels[0], run, "gradient_sd", looks)
            for density, looks in DENSITIES.items():
                if f"info_{density}_sd" in run:
                    _curve(panels[1], run, f"{density}_sd", looks)
        titles = (
            f"gradient of the negative log likelihood, {stream}",
            "gradient of the cross entropy with a radial prior",
        )
        for letter, panel, title in zip(letters[2 * place :], panels, titles, strict=False):
            panel.set(xscale="log", yscale="log", xlabel="standard deviation of the weights")
            panel.set_ylabel("standard deviation of the gradient")
            figure_style.title(panel, letter, title)
        panels[0].axvline(THRESHOLD, color=figure_style.MUTED, lw=0.8, ls=":")
        _legend(panels)
    return drawn


def caption(study: StudyResults) -> str:
    """What the spread is of, over what, and what is cut."""
    runs = _runs(study)
    settings = [_settings(run) for of_stream in runs.values() for run in of_stream.values()]
    layers = sorted({one["layer"] or "all layers" for one in settings})
    numbers = sorted({one["draws"] for one in settings})
    source = bibliography.short("farquhar2020radial")
    return (
        f"Root mean square over the weights of {', '.join(layers)} of the gradient's standard "
        f"deviation over {' or '.join(map(str, numbers))} draws, at means that training starts "
        f"from, as in Fig. 6 of {source}; dotted: where it sees an explosion. Right: of a prior "
        "around other such means, in nats, undivided by rows. Mean over seeds; "
        f"{figure_style.spread_told(study, '95 % interval (Student t on the log scale)')}. "
        f"{study.budget(list(runs))}"
    )


def _runs(study: StudyResults) -> dict[str, dict[str, xr.Dataset]]:
    """By stream and learner, those that measure it."""
    found = study.offering("gradients_at_start")
    if not found:
        raise study.lacking("gradient-noise", "a learner that measures gradients at the start")
    return found


def _settings(run: xr.Dataset) -> dict[str, Any]:
    found = provenance.offering(run, "gradients_at_start")
    assert found is not None
    return found


def _curve(panel: Axes, run: xr.Dataset, field: str, looks: dict[str, Any]) -> None:
    """Mean over seeds, of means over tasks, with its interval, against the weights' width."""
    values = run[f"info_{field}"].transpose("seed", "task", "hypothesis").mean("task").values
    band = statistics.band(values, POSITIVE)
    sds = np.array(_settings(run)["sds"])
    order = np.argsort(sds)
    panel.plot(sds[order], band.mean[order], ms=4, **looks)
    sorted_band = statistics.Band(*(one[order] for one in band))
    figure_style.spread(panel, sds[order], values[:, order], sorted_band, looks["color"], 0.25)


def _legend(panels: np.ndarray) -> None:
    for panel in panels:
        if panel.get_legend_handles_labels()[0]:
            panel.legend(loc="upper left")
        else:
            panel.set_axis_off()
