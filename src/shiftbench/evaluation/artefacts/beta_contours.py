"""Contours of the exact beta posterior and its normal-inverse-gamma approximation.

Fig. 3 of knoblauch2018robust: draws by Hamiltonian Monte Carlo (solid) and the fitted approximation
(dashed), for pairs of the first two coefficients and the variance, after the first task and
after the last.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.ndimage import gaussian_filter

from shiftbench.config import provenance
from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _series
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.methods.posteriors.beta_exact import Approximation

FACTS = Facts(from_learner=("draws",))

SHARES = (0.5, 0.8, 0.95)
"""Posterior probability inside a contour."""
CELLS = 120
"""Cells of the grid along each axis."""
BANDWIDTH = 0.2
"""Width of the smoothing, in standard deviations of the draws, which are shrunk before so that
smoothing leaves their covariance unchanged."""
REACH = 3.4
"""Largest half-width of a panel, in standard deviations of the draws."""


class _Pair(NamedTuple):
    """Two parameters: their indices in a draw (0: s2) and their names."""

    x: int
    y: int
    x_name: str
    y_name: str


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one row of panels per stream and task. Raises UserError without a method with draws."""
    method, shown = _sampler(study), _shown(study)
    width = max(len(_pairs(study, stream, method)) for stream in study.streams)
    height = 2.9 * len(shown) + 0.3 + figure_style.MESSAGE
    figure = figure_style.figure(height, _foot(study), study.basis())
    below = figure_style.below_message(figure, message(study))
    panels = below.subplots(len(shown), width, squeeze=False)
    letters = figure_style.panel_letters(len(shown))
    for letter, row, (stream, task) in zip(letters, panels, shown, strict=True):
        draws, fit = _draws_and_fit(study, stream, task, method)
        for panel, pair in zip(row, _pairs(study, stream, method), strict=False):
            _draw_pair(panel, draws, fit, pair)
        rows = _series.rows_learnt(study.streams[stream], task + 1)
        figure_style.set_title(row[0], letter, f"{stream}, after {rows} rows")
        within = _words(*_differences(draws, fit))
        row[-1].set_title(within, loc="right", size=8, color=figure_style.MUTED)
    figure_style.shared_legend(below, panels[0, 0])
    return figure


def caption(study: StudyResults) -> str:
    """Say how close the fit is, describe the contours, the draws, and the reductions."""
    return f"{message(study)}. {_foot(study)}"


def message(study: StudyResults) -> str:
    """Say how close the approximation is to the exact posterior after all tasks shown."""
    method = _sampler(study)
    found = [_differences(*_draws_and_fit(study, *at, method)) for at in _shown(study)]
    mean, sd = (max(values) for values in zip(*found, strict=True))
    return (
        "The fitted normal-inverse-gamma differs from draws of the exact posterior by at most"
        f" {mean:.2f} standard deviations in means and {100 * sd:.1f} % in standard deviations"
    )


def _foot(study: StudyResults) -> str:
    """Return what is written below the figure."""
    runs = [study.run(stream, _sampler(study)) for stream in study.streams]
    worst = max(float(run["info_r_hat"].max()) for run in runs)
    least = min(float(run["info_accepted"].min()) for run in runs)
    beta = (provenance.offering(runs[0], "draws") or {})["beta_p"]
    shares = ", ".join(f"{100 * share:.0f}" for share in SHARES)
    return (
        f"Contours hold {shares} % of the posterior of two parameters, the others integrated out; "
        f"beta of the parameters {beta:g}. Solid: {runs[0]['info_draws'].shape[-2]:,} draws of the "
        "exact beta posterior by Hamiltonian Monte Carlo, smoothed. Dashed: the "
        "normal-inverse-gamma with the largest ELBO, exact. At the right: largest "
        "differences of their marginal means and "
        f"standard deviations. Worst R-hat {worst:.3f}, at least {100 * least:.0f} % of the "
        f"proposals accepted. First seed. {study.basis()}"
    )


def _shown(study: StudyResults) -> list[tuple[str, int]]:
    """Return the streams, each with its first and its last task."""
    last = {stream: store.sizes["task"] - 1 for stream, store in study.streams.items()}
    return [(stream, task) for stream in study.streams for task in sorted({0, last[stream]})]


def _draws_and_fit(
    study: StudyResults, stream: str, task: int, method: str
) -> tuple[np.ndarray, Approximation]:
    """Return the draws [K, parameter] of the first seed after a task, and the approximation."""
    run = study.run(stream, method).isel(seed=0, task=task, hypothesis=0)
    return run["info_draws"].values, Approximation.unpacked(run["info_fit"].values)


def _sampler(study: StudyResults) -> str:
    """Return the first method that publishes draws."""
    stream = next(iter(study.streams))
    for name in study.methods:
        if "info_draws" in study.run(stream, name):
            return name
    raise study.lacking("beta-contours", "a method that publishes draws of its posterior")


def _pairs(study: StudyResults, stream: str, method: str) -> list[_Pair]:
    """Return all pairs of s2 and at most two coefficients."""
    coefficients = study.run(stream, method)["info_draws"].shape[-1] - 1
    names = ["variance", "coefficient 1", "coefficient 2"][: 1 + min(coefficients, 2)]
    if study.streams[stream].attrs.get("regressors") == "own-lag":
        names[1:] = ["intercept", "lag 1"]
    # The variance comes last, so that it is on the vertical axis as in the paper.
    order = [*range(1, len(names)), 0]
    return [_Pair(i, j, names[i], names[j]) for i, j in itertools.combinations(order, 2)]


def _draw_pair(panel: Axes, draws: np.ndarray, fit: Approximation, pair: _Pair) -> None:
    of_pair = draws[:, [pair.x, pair.y]]
    edges = [_edges(values) for values in of_pair.T]
    x, y = (0.5 * (edge[1:] + edge[:-1]) for edge in edges)
    exact = _smoothed(of_pair, edges)
    on_x, on_y = np.meshgrid(x, y, indexing="ij")
    density = _student_t if pair.y else _with_variance
    fitted = density(fit, on_x, on_y, pair)
    for values, color, dashes, label in (
        (exact, "black", "-", "Hamiltonian Monte Carlo"),
        (fitted, figure_style.PALETTE[3], "--", "fitted normal-inverse-gamma"),
    ):
        panel.contour(x, y, values.T, _levels(values), colors=[color], linestyles=dashes)
        panel.plot([], [], color=color, ls=dashes, label=label)
    panel.set(xlabel=pair.x_name, ylabel=pair.y_name)
    panel.xaxis.set_major_locator(MaxNLocator(6))


def _smoothed(draws: np.ndarray, edges: list[np.ndarray]) -> np.ndarray:
    """Return the density of draws [K, 2] in each cell of a grid, up to a constant."""
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    shrunk = mean + (draws - mean) / np.sqrt(1 + BANDWIDTH**2)
    counts = np.histogram2d(shrunk[:, 0], shrunk[:, 1], bins=edges)[0]
    cell = np.array([edge[1] - edge[0] for edge in edges])
    return gaussian_filter(counts, BANDWIDTH * sd / cell, mode="constant")


def _edges(values: np.ndarray) -> np.ndarray:
    """Return the edges of the cells; for a skewed parameter they end at the outermost draws."""
    middle, reach = values.mean(), REACH * values.std()
    low, high = max(middle - reach, values.min()), min(middle + reach, values.max())
    margin = 0.05 * (high - low)
    return np.linspace(low - margin, high + margin, CELLS + 1)


def _student_t(fit: Approximation, x: np.ndarray, y: np.ndarray, pair: _Pair) -> np.ndarray:
    """Return the density of two coefficients under the approximation, up to a constant."""
    indices = [pair.x - 1, pair.y - 1]
    root = np.linalg.cholesky((fit.root @ fit.root.T)[np.ix_(indices, indices)])
    z = np.linalg.solve(root, np.stack([x.ravel(), y.ravel()]) - fit.m[indices][:, None])
    squared = (z**2).sum(axis=0).reshape(x.shape)
    return (1 + 0.5 * squared / fit.b) ** -(fit.a + 1)


def _with_variance(fit: Approximation, x: np.ndarray, s2: np.ndarray, pair: _Pair) -> np.ndarray:
    """Return the density of a coefficient and the variance under the approximation."""
    root = np.linalg.norm(fit.root[pair.x - 1])
    of_pair = Approximation(fit.a, fit.b, fit.m[[pair.x - 1]], np.array([[root]]))
    # The margin of the panel may extend below a variance of 0.
    positive = np.maximum(s2, 1e-12 * fit.b).ravel()
    log_density = of_pair.log_density(positive, x.reshape(-1, 1)).reshape(x.shape)
    return np.where(s2 > 0, np.exp(log_density), 0.0)


def _levels(values: np.ndarray) -> list[float]:
    """Return the densities, increasing, whose contours hold SHARES of the mass on the grid."""
    ordered = np.sort(values.ravel())[::-1]
    mass = np.cumsum(ordered) / ordered.sum()
    return sorted(float(ordered[np.searchsorted(mass, share)]) for share in SHARES)


def _differences(draws: np.ndarray, fit: Approximation) -> tuple[float, float]:
    """Return the largest differences of marginal means, in sd, and relative ones of sds."""
    mean = np.append(fit.b / (fit.a - 1), fit.m)
    of_mu = mean[0] * (fit.root**2).sum(axis=1)
    sd = np.sqrt(np.append(mean[0] ** 2 / (fit.a - 2), of_mu))
    exact_sd = draws.std(axis=0)
    shift = np.abs(draws.mean(axis=0) - mean) / exact_sd
    return float(shift.max()), float(np.abs(sd / exact_sd - 1).max())


def _words(mean: float, sd: float) -> str:
    return f"means within {mean:.2f} standard deviations, these within {100 * sd:.1f} %"
