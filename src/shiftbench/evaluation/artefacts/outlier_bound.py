"""Condition under which no single outlier can force a changepoint (Theorem 1).

Fig. 2A of knoblauch2018robust, for the prior of its Fig. 1B. Left: the lower bound on the log odds
of no changepoint against the determinant of the prediction's scale; the theorem holds where it is
above 0. Then the smallest scale for which it holds, against beta_rlm, for each dimension and each
hazard. Formulas only: no run enters.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import bibliography
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.theory import odds_bound

A0, B0 = 3.0, 5.0
"""Prior of s2 in Fig. 1B."""
D, HAZARD, BETA = 5, 0.01, 0.15
"""Series, hazard and beta_rlm of Fig. 1B."""
STATED = 8.12e-6
"""Smallest determinant for which the paper states that its theorem holds there."""
BETAS = (0.1, 0.15, 0.2, 0.3, 0.5)
DIMENSIONS = (1, 2, 5, 10, 29)
HAZARDS = (0.1, 0.01, 0.001, 0.0001)
FINE = np.geomspace(0.02, 1.0, 1000)
HIGHEST = 100.0
"""Top of the scale of panels b and c."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw three panels, the same for every study."""
    figure = figure_style.figure(3.5 + figure_style.MESSAGE, _foot(study))
    odds, dimensions, hazards = figure_style.below_message(figure, message()).subplots(1, 3)
    _draw_odds(odds)
    _draw_smallest(dimensions, [(HAZARD, d, f"d = {d}") for d in DIMENSIONS])
    _draw_smallest(hazards, [(h, D, f"h = 1/{round(1 / h):,}") for h in HAZARDS])
    figure_style.set_title(odds, "a", f"Lower bound, d = {D}, h = 1/{round(1 / HAZARD)}")
    figure_style.set_title(dimensions, "b", f"Smallest scale, h = 1/{round(1 / HAZARD)}")
    figure_style.set_title(hazards, "c", f"Smallest scale, d = {D}")
    return figure


def caption(study: StudyResults) -> str:
    """Say where the bound holds, define it, and compare it with the statement of the paper."""
    return f"{message()}. {_foot(study)}"


def message() -> str:
    """Say from which determinant on the bound holds for the example of the paper."""
    return (
        f"With d = {D}, h = 1/{round(1 / HAZARD)} and beta {BETA:g} of run lengths, no single"
        f" outlier can force a changepoint where |V| is above {_smallest():.1e}"
        f" ({STATED:.3g} in the paper)"
    )


def _smallest() -> float:
    """Return the smallest determinant for which the bound holds there."""
    return float(np.exp(odds_bound.smallest_log_det(BETA, HAZARD, D, A0, B0)))


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        f"Prior of s2: IG({A0:g}, {B0:g}); |V|: determinant of the scale matrix of the prediction. "
        "The bound is our own sufficient condition, for any observation, regressors and run "
        "length, if parameters have the standard posterior; dotted in a: "
        f"{STATED:.3g}, above which {bibliography.short('knoblauch2018robust')} state that theirs "
        f"holds (Fig. 1B, beta = {BETA:g}); "
        f"ours holds there from {_smallest():.1e} on. b, c: above a line (shaded: d = {D}, h = "
        f"1/{round(1 / HAZARD)}) no single outlier can force a changepoint; left of its rise it "
        "holds for no scale. It depends on the unit of the data. Formulas only: no run of the "
        f"study {study.name} enters."
    )


def _draw_odds(panel: Axes) -> None:
    log_det = np.linspace(np.log(1e-14), np.log(1e4), 300)
    for number, beta in enumerate(BETAS):
        bound = odds_bound.log_odds_bound(beta, HAZARD, D, log_det, A0, B0)
        panel.plot(np.exp(log_det), bound, color=figure_style.PALETTE[number], label=f"{beta:g}")
    panel.axhline(0, color=figure_style.INK, lw=0.8)
    panel.axvline(STATED, color=figure_style.MUTED, lw=1.0, ls=":")
    panel.set(xscale="log", ylim=(-8, 5.5), xlabel="|V|", ylabel="lower bound on the log odds")
    panel.set_xticks([1e-12, 1e-8, 1e-4, 1.0, 1e4])
    panel.text(1e4, 0.15, "no outlier forces a changepoint", size=7.5, ha="right")
    panel.legend(title="beta of run lengths", loc="lower right", ncols=2)


def _draw_smallest(panel: Axes, lines: list[tuple[float, int, str]]) -> None:
    for number, (hazard, d, label) in enumerate(lines):
        colour = figure_style.PALETTE[number]
        log_det = odds_bound.smallest_log_det(FINE, hazard, d, A0, B0)
        scale = np.minimum(np.exp(log_det / d), 10 * HIGHEST)
        panel.plot(FINE, scale, color=colour, label=label)
        if (hazard, d) == (HAZARD, D):
            panel.fill_between(FINE, scale, HIGHEST, color=colour, alpha=0.12, lw=0)
    panel.plot(BETA, _smallest() ** (1 / D), "o", color="black", ms=5, label="Fig. 1B")
    panel.set(xscale="log", yscale="log", ylim=(1e-6, HIGHEST), xlim=(FINE[0], FINE[-1]))
    panel.set(xlabel="beta of run lengths", ylabel=r"smallest |V|$\mathdefault{^{1/d}}$")
    panel.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1.0], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    panel.minorticks_off()
    panel.legend(loc="lower left", handlelength=1.4)
