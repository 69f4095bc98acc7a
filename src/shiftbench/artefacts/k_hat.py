"""How near the fitted normal-inverse-gamma is to the exact beta posterior, against beta_p.

Fig. 2B of knoblauch2018robust: k-hat of the predictive density for several dimensions; beside it
k-hat of the importance weights alone, and the share of effective draws. From formulas and simulated
rows; rests on no run.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench import seeds
from shiftbench.artefacts import _style
from shiftbench.planning import works
from shiftbench.posteriors.beta_exact import Prior
from shiftbench.scoring.results import StudyResults
from shiftbench.theory import k_hat

KIND = "figure"

PRIOR = Prior(3.0, 5.0, 0.0, 100.0)
"""The prior of Fig. 1B."""
DIMENSIONS = (1, 2, 5, 10)
BETAS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
ROWS, REALISATIONS, DRAWS = 100, 5, 2000
FORGOTTEN = 0.02
"""Share learnt below which the posterior is little else than the prior."""
CLOSE, UNRELIABLE = 0.5, 0.7
PANELS = {
    "predictive": "k-hat of the next row's density",
    "weights": "k-hat of the weights",
    "effective": "1 - effective draws / draws",
}


@_style.styled
def draw(study: StudyResults) -> Figure:
    """Three panels, the same for every study."""
    drawn = _style.figure(3.5, caption(study))
    panels = drawn.subplots(1, 3)
    found = {d: [_closeness(beta, d) for beta in BETAS] for d in DIMENSIONS}
    for letter, (panel, (field, label)) in enumerate(zip(panels, PANELS.items(), strict=True)):
        _draw(panel, found, field)
        _style.title(panel, "abc"[letter], label)
    for panel in panels[:2]:
        for level, words in ((CLOSE, "close below"), (UNRELIABLE, "unreliable above")):
            panel.axhline(level, color=_style.MUTED, lw=0.8, ls=":")
            panel.text(BETAS[0], level, words, size=7, color=_style.MUTED, va="bottom")
        panel.set_ylim(-0.3, 1.25)
    panels[2].set_yscale("log")
    panels[0].legend(loc="upper left", ncols=2)
    return drawn


def caption(study: StudyResults) -> str:
    """What k-hat is of, on which rows, and where no point is drawn."""
    return (
        f"d autoregressions with a level and a lag each (p = 2d), {ROWS} rows; median of "
        f"{REALISATIONS} data sets, bars from least to largest; {DRAWS} draws. Prior and a as in "
        f"{works.short('knoblauch2018robust')}. a: of the posterior predictive; b: of the "
        "importance weights alone, the shape of their tail; c: how much they differ. Crosses at "
        "the foot: the posterior has forgotten the data (a grew by less than "
        f"{FORGOTTEN:.0%} of its growth without beta). Formulas only: no run of the study "
        f"{study.name} enters."
    )


def _closeness(beta: float, d: int) -> k_hat.Closeness:
    """Each entry an array [realisation]."""
    return k_hat.Closeness(
        *np.transpose(
            [
                k_hat.closeness(
                    PRIOR,
                    beta,
                    *k_hat.autoregressions(ROWS + 1, d, number),
                    DRAWS,
                    seeds.generator(seeds.fold("k-hat", "draws", d, number)),
                )
                for number in range(REALISATIONS)
            ]
        )
    )


def _draw(panel: Axes, found: dict[int, list[k_hat.Closeness]], field: str) -> None:
    for place, (d, of_betas) in enumerate(found.items()):
        learnt = np.array([np.median(one.learnt) for one in of_betas])
        values = np.array([getattr(one, field) for one in of_betas])
        if field == "effective":
            values = 1 - values
        low, middle, high = np.quantile(values, [0, 0.5, 1], axis=1)
        shown = learnt > FORGOTTEN
        panel.errorbar(
            np.array(BETAS)[shown] * 1.04 ** (place - 1.5),
            middle[shown],
            np.stack([middle - low, high - middle])[:, shown],
            color=_style.PALETTE[place],
            marker=_style.MARKERS[place],
            ms=4,
            elinewidth=0.8,
            label=f"d = {d}",
        )
        forgot = np.array(BETAS)[~shown]
        panel.plot(
            forgot * 1.04 ** (place - 1.5),
            np.full(len(forgot), 0.03 * (1 + place % 2)),
            "x",
            color=_style.PALETTE[place],
            ms=5,
            transform=panel.get_xaxis_transform(),
        )
    panel.set(xscale="log", xlabel="beta_p")
    panel.set_xticks(BETAS, [f"{beta:g}" for beta in BETAS])
    panel.minorticks_off()
