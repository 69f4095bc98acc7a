"""Influence of one observation on the posterior, against its distance from the prediction.

Fig. 1A of knoblauch2018robust: in the standard posterior the influence grows with the distance, in
a beta posterior it vanishes. Beside it: the distance of the largest influence against beta, from
which the paper chooses its initial beta_p. Formulas only: no run enters.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.evaluation.theory import influence as influences

BETAS = (0.0, 0.05, 0.1, 0.25, 0.5)
ROWS = 50
"""Number of observations before, in panel a."""
ROWS_OF_PEAKS = (5, 50, 500)
DISTANCES = np.linspace(0, 8, 81)
PEAKS = np.linspace(1.5, 7, 12)


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw two panels, the same for every study."""
    figure = figure_style.figure(3.4 + figure_style.MESSAGE, _foot(study))
    curves, peaks = figure_style.below_message(figure, message()).subplots(1, 2)
    _draw_curves(curves)
    _draw_peaks(peaks)
    figure_style.set_title(curves, "a", f"One observation more, after {ROWS}")
    figure_style.set_title(peaks, "b", "Where the influence is largest")
    return figure


def caption(study: StudyResults) -> str:
    """Say where the influence falls; define the influence and the model."""
    return f"{message()}. {_foot(study)}"


def message() -> str:
    """Say from which distance on the influence falls, for the least and the largest beta."""
    least, most = (f"{_peak(beta):.1f}" for beta in (BETAS[1], BETAS[-1]))
    return (
        "In the standard posterior the influence of an observation grows with its distance; "
        f"with beta = {BETAS[1]:g} it falls from {least} standard deviations on, with "
        f"{BETAS[-1]:g} from {most} on"
    )


def _peak(beta: float) -> float:
    """Return the distance of the largest influence in panel a."""
    return float(DISTANCES[influences.influence(DISTANCES, beta, _after(ROWS)).argmax()])


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    return (
        "Influence: Fisher-Rao distance between the posteriors of mean and variance of a Gaussian "
        "without and with the observation, exact (0: none; dotted, pi/2: nothing in common). "
        "Distance: from the posterior mean, in standard deviations of the prediction. beta = 0: "
        "the standard posterior, without a maximum. Formulas only: no run of the study "
        f"{study.name} enters."
    )


def _draw_curves(panel: Axes) -> None:
    for number, beta in enumerate(BETAS):
        values = influences.influence(DISTANCES, beta, _after(ROWS))
        color = "black" if beta == 0 else figure_style.PALETTE[number - 1]
        label = "standard (0)" if beta == 0 else f"{beta:g}"
        panel.plot(DISTANCES, values, color=color, ls="--" if beta == 0 else "-", label=label)
        if beta:
            top = int(values.argmax())
            panel.plot(
                DISTANCES[top], values[top], figure_style.MARKERS[number - 1], color=color, ms=5
            )
    panel.axhline(np.pi / 2, color=figure_style.MUTED, lw=1.0, ls=":")
    panel.text(0.1, np.pi / 2, "pi/2: nothing in common", size=7.5, va="bottom")
    panel.set(xlabel="distance of the observation (standard deviations)", ylabel="influence")
    panel.set(xlim=(0, DISTANCES[-1]), ylim=(0, 1.75))
    panel.legend(title="beta", loc="upper left", alignment="left", bbox_to_anchor=(0.01, 0.89))


def _draw_peaks(panel: Axes) -> None:
    """Draw, for each distance, the beta whose influence is largest there."""
    for number, rows in enumerate(ROWS_OF_PEAKS):
        panel.plot(
            [influences.initial_beta(distance, _after(rows)) for distance in PEAKS],
            PEAKS,
            marker=figure_style.MARKERS[number],
            ms=3.5,
            color=figure_style.PALETTE[(4, 5, 7)[number]],
            label=f"{rows} observations before",
        )
    panel.set(
        xscale="log",
        xlabel="beta",
        ylabel="distance of the largest influence\n(standard deviations)",
    )
    panel.set_xticks([0.05, 0.1, 0.2, 0.5, 1.0], ["0.05", "0.1", "0.2", "0.5", "1"])
    panel.minorticks_off()
    panel.set_ylim(0, DISTANCES[-1])
    panel.legend(loc="upper right")


def _after(rows: int) -> influences.Posterior:
    """Return the standard posterior after `rows` observations of variance 1."""
    return influences.Posterior(a=1 + rows / 2, b=rows / 2, variance=1 / rows)
