"""Closeness of the fitted normal-inverse-gamma to the exact beta posterior, against beta_p.

Fig. 2B of knoblauch2018robust: k-hat of the predictive density for several dimensions; beside it
k-hat of the importance weights alone, and the share of effective draws. All are taken from runs of
a method that computes them, after the last task but one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography, provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style, highlights
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(takes=("design",), from_learner=("closeness",))

FORGOTTEN = 0.02
"""Value of the info `learnt` below which the posterior counts as close to the prior."""
CLOSE, UNRELIABLE = 0.5, 0.7
PANELS = {
    "predictive": "k-hat of the next row's density",
    "weights": "k-hat of the weights",
    "effective": "draws lost",
}
FOOT = -0.3
"""Lowest k-hat on the axes, below which crosses have room."""
GAP = 0.07
"""Distance of names at the ends of lines, as a share of a panel's height."""


class _Curve(NamedTuple):
    """Median over data sets and their middle half [beta]. shown: where the data still count."""

    betas: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    shown: np.ndarray


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw three panels over beta_p, a line per stream. Raises UserError without such a method."""
    runs = _runs(study)
    figure = figure_style.figure(3.9, _foot(), study.basis(list(runs)))
    figure_style.set_message(figure, message(study))
    panels = figure.subplots(1, 3)
    for letter, panel, (field, label) in zip("abc", panels, PANELS.items(), strict=True):
        curves = {_dimension(study, stream): _curve(run, field) for stream, run in runs.items()}
        _draw_panel(panel, curves)
        figure_style.set_title(panel, letter, label)
        if field == "effective":
            panel.set(yscale="log", ylabel="share of draws (%)")
            panel.yaxis.set_major_formatter("{x:g}")
        else:
            highest = max(
                curve.high[curve.shown].max(initial=UNRELIABLE) for curve in curves.values()
            )
            panel.set(ylim=(FOOT, highest + 0.1), ylabel="k-hat")
            _draw_levels(panel, words=field == "predictive")
        _name_ends(panel, curves)
    return figure


def caption(study: StudyResults) -> str:
    """Say how close the fits are, describe the panels, the data and what is not drawn."""
    runs = _runs(study)
    settings = [_settings(run) for run in runs.values()]
    priors = {tuple(each[key] for key in ("a0", "b0", "prior_variance")) for each in settings}
    stores = [study.streams[stream] for stream in runs]
    rows = {_series.rows_learnt(store, store.sizes["task"] - 1) for store in stores}
    return (
        f"{message(study)}. d autoregressions with a level and a lag each (p = 2d), "
        f"{_one_of(rows)} rows; {settings[0]['draws']} draws; prior a0, b0, "
        f"variance: {_one_of(', '.join(f'{v:g}' for v in prior) for prior in priors)}. a: of the "
        f"posterior predictive, as in {bibliography.short('knoblauch2018robust')}; b: of the "
        "importance weights alone, the shape of their tail; c: 1 - effective draws / draws. "
        f"{_foot()} {study.basis(list(runs))}"
    )


def message(study: StudyResults) -> str:
    """Say how close the next row's density is where it is farthest from the exact one."""
    worst, dimension = max(
        (float(curve.middle[curve.shown].max(initial=-np.inf)), _dimension(study, stream))
        for stream, run in _runs(study).items()
        for curve in [_curve(run, "predictive")]
    )
    if worst == -np.inf:
        return "Every posterior has forgotten the data"
    verdict = "is close to" if worst < CLOSE else "is not everywhere close to"
    return (
        f"The fit's next-row density {verdict} the exact one: the median k-hat is at most"
        f" {worst:.2f} (at {dimension}) where the data are not forgotten; below {CLOSE} is close"
    )


def _foot() -> str:
    """Return the sentences on points, which are drawn below the figure."""
    return (
        "Median over data sets; bars: the middle half of them. Crosses: the posterior has forgotten"
        f" the data (its shape parameter a grew by less than {100 * FORGOTTEN:.0f} % of its growth"
        " without beta)."
    )


def _dimension(study: StudyResults, stream: str) -> str:
    return f"d = {study.streams[stream].sizes['series']}"


def _runs(study: StudyResults) -> dict[str, xr.Dataset]:
    """Return the first run on each stream of a method that computes k-hat."""
    runs: dict[str, xr.Dataset] = {}
    for stream in study.streams:
        for name in study.methods:
            run = study.run(stream, name)
            if "info_learnt" in run and stream not in runs:
                runs[stream] = run
    if not runs:
        raise study.lacking("k-hat", "a method that says how near its posteriors are to exact ones")
    return runs


def _settings(run: xr.Dataset) -> dict[str, Any]:
    """Return the settings of the method of a run."""
    return provenance.spec(run)["learner"][-1][1]


def _betas(run: xr.Dataset) -> np.ndarray:
    return np.array(_settings(run)["betas"])


def _one_of(values: Iterable[Any]) -> str:
    return " or ".join(str(value) for value in sorted(values))


def _curve(run: xr.Dataset, field: str) -> _Curve:
    """Return a number of the fits before the last task; draws lost in percent."""
    last = run.isel(task=-1).transpose("hypothesis", "seed", ...)
    values, learnt = last[f"info_{field}"].values, last["info_learnt"].values
    if field == "effective":
        values = 100 * (1 - values)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
    return _Curve(_betas(run), low, middle, high, np.median(learnt, axis=1) > FORGOTTEN)


def _draw_panel(panel: Axes, curves: Mapping[str, _Curve]) -> None:
    """Draw a line per dimension, shifted so that bars of other lines remain visible."""
    panel.set(xscale="log", xlabel="beta of the parameters")
    forgotten = []
    for line, (name, (betas, low, middle, high, shown)) in enumerate(curves.items()):
        x, colour = betas * 1.04 ** (line - 1.5), figure_style.PALETTE[line]
        bars = np.stack([middle - low, high - middle])[:, shown]
        marker = figure_style.MARKERS[line]
        panel.errorbar(
            x[shown], middle[shown], bars, color=colour, marker=marker, ms=4, elinewidth=0.8,
            label=name,
        )  # fmt: skip
        crosses = np.full((~shown).sum(), 0.03 * (1 + line % 2))
        foot = panel.get_xaxis_transform()
        panel.plot(x[~shown], crosses, "x", color=colour, ms=5, transform=foot)
        forgotten += list(x[~shown])
    if forgotten:
        place: dict[str, Any] = {"transform": panel.get_xaxis_transform(), "va": "center"}
        words: dict[str, Any] = {"size": 7.5, "color": figure_style.MUTED, "ha": "right"}
        panel.text(min(forgotten) / 1.12, 0.045, "data forgotten:", **place, **words)
    ticks = next(iter(curves.values())).betas
    panel.set_xticks(ticks, [f"{beta:g}" for beta in ticks])
    panel.minorticks_off()


def _draw_levels(panel: Axes, words: bool) -> None:
    """Draw the levels of k-hat. words: say what they mean, where no line is near them."""
    for text, level in {"close below": CLOSE, "unreliable above": UNRELIABLE}.items():
        panel.axhline(level, color=figure_style.MUTED, lw=0.8, ls=":")
        if words:
            panel.text(
                0.02, level + 0.01, text, transform=panel.get_yaxis_transform(), va="bottom",
                size=7.5, color=figure_style.MUTED,
            )  # fmt: skip


def _name_ends(panel: Axes, curves: Mapping[str, _Curve]) -> None:
    ends = {
        name: (
            curve.betas[curve.shown][-1],
            curve.middle[curve.shown][-1],
            figure_style.PALETTE[line],
        )
        for line, (name, curve) in enumerate(curves.items())
        if curve.shown.any()
    }
    highlights.name_ends(panel, ends, GAP)
