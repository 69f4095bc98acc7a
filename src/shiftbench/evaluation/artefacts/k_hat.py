"""Closeness of the fitted normal-inverse-gamma to the exact beta posterior, against beta_p.

Fig. 2B of knoblauch2018robust: k-hat of the predictive density for several dimensions; beside it
k-hat of the importance weights alone, and the share of effective draws. All are taken from runs of
a learner that computes them, after the last task but one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(takes=("design",), from_learner=("closeness",))

FORGOTTEN = 0.02
"""Share learnt below which the posterior is close to the prior."""
CLOSE, UNRELIABLE = 0.5, 0.7
PANELS = {
    "predictive": "k-hat of the next row's density",
    "weights": "k-hat of the weights",
    "effective": "1 - effective draws / draws",
}


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw three panels over beta_p, a line per stream. Raises UserError without such a learner."""
    runs = _runs(study)
    figure = figure_style.figure(3.5, caption(study), study.budget(list(runs)))
    panels = figure.subplots(1, 3)
    for letter, (panel, (field, label)) in enumerate(zip(panels, PANELS.items(), strict=True)):
        for line, (stream, run) in enumerate(runs.items()):
            _draw_line(panel, run, field, line, f"d = {study.streams[stream].sizes['series']}")
        panel.set(xscale="log", xlabel="beta_p")
        ticks = _betas(next(iter(runs.values())))
        panel.set_xticks(ticks, [f"{beta:g}" for beta in ticks])
        panel.minorticks_off()
        figure_style.set_title(panel, "abc"[letter], label)
    levels = {"close below": CLOSE, "unreliable above": UNRELIABLE}
    for panel in panels[:2]:
        panel.set_ylim(-0.3, 1.25)
        for level in levels.values():
            panel.axhline(level, color=figure_style.MUTED, lw=0.8, ls=":")
    style: dict[str, Any] = {"size": 7, "color": figure_style.MUTED, "va": "center"}
    for text, level in levels.items():
        # Beside the panel, where no bar can hide it.
        panels[1].text(1.01, level, text, transform=panels[1].get_yaxis_transform(), **style)
    panels[2].set_yscale("log")
    panels[0].legend(loc="upper left", ncols=2)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the panels, the data and the points that are not drawn."""
    runs = _runs(study)
    settings = [_settings(run) for run in runs.values()]
    priors = {tuple(each[key] for key in ("a0", "b0", "prior_variance")) for each in settings}
    stores = [study.streams[stream] for stream in runs]
    rows = {_series.rows_learnt(store, store.sizes["task"] - 1) for store in stores}
    return (
        f"d autoregressions with a level and a lag each (p = 2d), {_one_of(rows)} rows; median "
        f"over data sets, bars from least to largest; {settings[0]['draws']} draws; prior a0, b0, "
        f"variance: {_one_of(', '.join(f'{v:g}' for v in prior) for prior in priors)}. a: of the "
        f"posterior predictive, as in {bibliography.short('knoblauch2018robust')}; b: of the "
        "importance "
        "weights alone, the shape of their tail; c: how much they differ. Crosses at the foot: the "
        "posterior has forgotten the data (a grew by less than "
        f"{FORGOTTEN:.0%} of its growth without beta). {study.budget(list(runs))}"
    )


def _runs(study: StudyResults) -> dict[str, xr.Dataset]:
    """Return the first run on each stream of a learner that computes k-hat."""
    runs: dict[str, xr.Dataset] = {}
    for stream in study.streams:
        for name in study.learners:
            run = study.run(stream, name)
            if "info_learnt" in run and stream not in runs:
                runs[stream] = run
    if not runs:
        raise study.lacking(
            "k-hat", "a learner that says how near its posteriors are to exact ones"
        )
    return runs


def _settings(run: xr.Dataset) -> dict[str, Any]:
    """Return the settings of the learner of a run."""
    return provenance.spec(run)["learner"][-1][1]


def _betas(run: xr.Dataset) -> np.ndarray:
    return np.array(_settings(run)["betas"])


def _one_of(values: Iterable[Any]) -> str:
    return " or ".join(str(value) for value in sorted(values))


def _draw_line(panel: Axes, run: xr.Dataset, field: str, line: int, label: str) -> None:
    """Draw medians over seeds with bars, shifted so that bars of other lines remain visible."""
    last = run.isel(task=-1).transpose("hypothesis", "seed", ...)
    values, learnt = last[f"info_{field}"].values, last["info_learnt"].values
    if field == "effective":
        values = 1 - values
    low, middle, high = np.quantile(values, [0, 0.5, 1], axis=1)
    shown = np.median(learnt, axis=1) > FORGOTTEN
    x = _betas(run) * 1.04 ** (line - 1.5)
    panel.errorbar(
        x[shown],
        middle[shown],
        np.stack([middle - low, high - middle])[:, shown],
        color=figure_style.PALETTE[line],
        marker=figure_style.MARKERS[line],
        ms=4,
        elinewidth=0.8,
        label=label,
    )
    panel.plot(
        x[~shown],
        np.full((~shown).sum(), 0.03 * (1 + line % 2)),
        "x",
        color=figure_style.PALETTE[line],
        ms=5,
        transform=panel.get_xaxis_transform(),
    )
