"""Regret of online learners on a stream, and the bounds that theorems put on it.

Source: cherief2019online, Theorems 1 (SVA) and 2 (SVB), with the constants of the ACML paper; the
bounds of the online gradient algorithm (OGA) are the textbook ones. A learner declares its row of
the tables as `theorem`: gradient (oga), gradient of the expected loss (oga-el), 1 (sva), 2 (svb),
2, strongly convex, or classical (gibbs). Each bound has two forms. With the stream's gradients g_t:

    oga     inf_u {sum l_t(u) + |u|^2 / (2 eta)}                     + eta / 2 sum |g_t|^2
    oga-el  inf_q {sum Lbar_t(q) + |q - q_1|^2 / (2 eta s^2)}        + eta s^2 / 2 sum |g_t|^2
    sva     inf_q {sum Lbar_t(q) + KL(q, prior) / eta}               + eta s^2 / 2 sum |g_t|^2
    svb     inf_u {sum Lbar_t(u, sd_t)} + D^2 sqrt(T) / (2c)         + 1/2 sum c / sqrt(t) |g_t|^2
    svb, linear (H-strongly convex losses)
            inf_u {sum Lbar_t(u, sd_t)}                              + sum |g_t|^2 / (H t)
    gibbs   inf_q {sum Lbar_t(q) + KL(q, prior) / eta}               + eta / 8 sum B_t^2

B_t is the range of the loss of row t on the grid, and the infimum over all distributions, which the
evidence gives: -1 / eta log E exp(-eta sum l_t) under the prior. With B, the largest B_t, it is the
worst case eta B^2 T / 8, as the slides print it. For gibbs the best fixed predictor is in its grid.

Lbar_t is the expected loss, q = (m, sd); the gradients of svb are those in m alone, because
its m moves as in online gradient descent with step c / sqrt(t) on Lbar_t(., sd_t). D is the
diameter of the box. These bound the sum of the expected losses Lbar_t(q_t), and so (Jensen)
that of l_t(m_t). In the worst case every |g_t| is replaced by a Lipschitz constant L:

    oga  eta L^2 T / 2;  oga-el  eta s^2 L^2 T / 2;  sva  eta s^2 L^2 T, as Theorem 1 prints it;
    svb  inf_u sum l_t(u) + D^2 sqrt(T) / (2c) + c L^2 sqrt(T), which for c = D / (L sqrt 2) is
         Theorem 2's D L sqrt(2 T);  svb, linear  inf_u sum l_t(u) + L^2 (1 + log T) / H.

The last two compare with l_t, as printed, and bound the sum of l_t(m_t) alone; they need the
paper's box, sd <= 1 (with a wide prior there are streams that exceed them). No theorem covers
ngvi, svb with constant steps, or combinators. An infimum is the value at a solver's point, which is
never below the true one, so that a bound is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import minimize

from shiftbench.config import components, provenance
from shiftbench.evaluation.theory import best_fixed
from shiftbench.evaluation.theory.best_fixed import Examples
from shiftbench.methods.online.losses import Kind, Loss

OGA, SVA, SVB, SVB_LINEAR, GIBBS = "gradient", "1", "2", "2, strongly convex", "classical"
"""Values of a learner's fact `theorem`; oga-el has a value that is not among these."""
SMALLEST_SD = 1e-6
"""Lower end of the search for sd, in units of the prior's sd."""


class Bounds(NamedTuple):
    """Bounds on the sum of losses over the stream: with its own gradients, and worst case."""

    own: float
    worst: float


class TheoremSettings(NamedTuple):
    """A learner's settings under the names of the theorems.

    theorem: the learner's fact `theorem`; empty if none applies. s: prior standard deviation. eta:
    step size. c: step size of svb. h: strong convexity.
    """

    theorem: str
    kind: Kind
    bound: float
    s: float
    eta: float
    c: float
    h: float


def theorem_settings(run: xr.Dataset, stream: xr.Dataset) -> TheoremSettings | None:
    """Return the settings of a run; None unless it is a plain learner with a loss, on a table."""
    pipeline = provenance.spec(run)["learner"]
    settings = provenance.offering(run, "loss")
    if len(pipeline) != 1 or settings is None or "order" not in stream:
        return None
    theorems = components.facts("learners", pipeline[0][0]).words("theorem", settings)
    kind: Any = settings["loss"]
    if kind == "auto":
        kind = "hinge" if stream.attrs["kind"] == "classification" else "squared"
    step = settings.get("step_size", 0.0)
    return TheoremSettings(
        theorem=next(iter(theorems), ""),
        kind=kind,
        bound=settings["bound"] if "bound" in settings else _half_width(settings),
        s=settings["prior_sd"],
        eta=step or run.sizes["task"] ** -0.5,
        c=step,
        h=settings.get("ridge", 0.0),
    )


def _half_width(settings: Mapping[str, Any]) -> float:
    """Return half the width of the grid of gibbs."""
    return settings["reach"] * settings["prior_sd"]


def best(run: xr.Dataset, stream: xr.Dataset, used: TheoremSettings) -> np.ndarray:
    """Return the sum of losses [seed] of the best fixed predictor of each seed's rows."""
    weight = used.h * run.sizes["task"]
    return np.array(
        [
            best_fixed.smallest(best_fixed.rows(stream, number), used.kind, used.bound, weight)
            for number in run["realisation"].values.astype(int)
        ]
    )


def of_losses(run: xr.Dataset, stream: xr.Dataset, info: str) -> np.ndarray:
    """Return the sum of the losses in `info` [seed] minus that of the best fixed predictor."""
    used = theorem_settings(run, stream)
    if used is None:
        return np.full(run.sizes["seed"], np.nan)
    return run[info].isel(hypothesis=0).sum("task").values - best(run, stream, used)


def bounds(run: xr.Dataset, stream: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return both bounds on the regret [seed]; NaN if no theorem applies."""
    used = theorem_settings(run, stream)
    if used is None or not used.theorem:
        missing = np.full(run.sizes["seed"], np.nan)
        return missing, missing
    numbers = run["realisation"].values.astype(int)
    sums = [
        _of_seed(used, best_fixed.rows(stream, number), run.isel(seed=s, hypothesis=0))
        for s, number in enumerate(numbers)
    ]
    # Without seeds, if all have failed, the array is empty, but has both forms.
    own, worst = np.array(sums, dtype=float).reshape(-1, 2).T - best(run, stream, used)
    return own, worst


def _of_seed(used: TheoremSettings, rows: Examples, run: xr.Dataset) -> Bounds:
    """Return the bounds of a seed; run: its infos [task]."""
    if used.theorem in (SVB, SVB_LINEAR):
        return _svb(used, rows, run)
    if used.theorem == GIBBS:
        return _gibbs(used, rows, run)
    size = len(rows.y)
    gradients = float(
        run["info_squared_gradient_mean"].sum() + run["info_squared_gradient_sd"].sum()
    )
    point = used.theorem == OGA
    largest = lipschitz(used, rows, point) ** 2 * size
    x, y = best_fixed.sorted_rows(rows)
    lowest = _smallest_with_penalty(used, x.tobytes(), y.tobytes())
    if point:
        half = used.eta / 2
        return Bounds(lowest + half * gradients, lowest + half * largest)
    half = used.eta * used.s**2 / 2
    printed = 2 if used.theorem == SVA else 1
    return Bounds(lowest + half * gradients, lowest + printed * half * largest)


def _svb(used: TheoremSettings, rows: Examples, run: xr.Dataset) -> Bounds:
    t = np.arange(1, len(rows.y) + 1)
    squares = run["info_squared_gradient_mean"].values
    largest = lipschitz(used, rows, point=True) ** 2
    spread = run["info_score_sd"].values
    arrays = (rows.x.tobytes(), rows.y.tobytes(), spread.tobytes())
    lowest = _smallest_with_spread(used, *arrays)
    lowest += 0.5 * used.h * float(run["info_squared_sd"].sum())
    fixed = best_fixed.smallest(rows, used.kind, used.bound, used.h * len(t))
    if used.theorem == SVB_LINEAR:
        worst = fixed + largest * (1 + np.log(len(t))) / used.h
        return Bounds(lowest + float((squares / (used.h * t)).sum()), worst)
    diameter = 2 * used.bound * np.sqrt(rows.x.shape[1])
    start = diameter**2 * np.sqrt(len(t)) / (2 * used.c)
    own = lowest + start + 0.5 * used.c * float((squares / np.sqrt(t)).sum())
    return Bounds(own, fixed + start + used.c * largest * np.sqrt(len(t)))


def _gibbs(used: TheoremSettings, rows: Examples, run: xr.Dataset) -> Bounds:
    lowest = -float(run["info_log_evidence"].sum()) / used.eta
    squares = ranges(used, rows) ** 2
    of_rows, largest = float(squares.sum()), float(squares.max()) * len(squares)
    return Bounds(lowest + used.eta / 8 * of_rows, lowest + used.eta / 8 * largest)


def ranges(used: TheoremSettings, rows: Examples) -> np.ndarray:
    """Return the range of the loss of each row [T] in the box; it is at an end, or at its kink."""
    reach = used.bound * np.abs(rows.x).sum(axis=1)
    loss = Loss(used.kind)
    ends = [loss.value(rows.y, score) for score in (-reach, reach)]
    lowest = loss.value(rows.y, np.clip(rows.y, -reach, reach))
    return np.maximum(*ends) - lowest


def lipschitz(used: TheoremSettings, rows: Examples, point: bool) -> float:
    """Return a Lipschitz constant of all losses of the stream, in m and, unless `point`, in sd.

    In m: |x| for the hinge and the absolute loss, whose slope is at most 1; 2 (|y| + bound |x|_1)
    |x| for the squared loss. In sd: the curvature times |sd x^2| is at most max |x_j| / sqrt(2 pi)
    for the hinge loss, twice that for the absolute loss, and 2 s |x^2| for the squared loss. A
    ridge H adds H times the largest |(m, sd)|.
    """
    norm = np.linalg.norm(rows.x, axis=1)
    if used.kind == "squared":
        slope = 2 * (np.abs(rows.y) + used.bound * np.abs(rows.x).sum(axis=1))
        of_sd = 2 * used.s * np.linalg.norm(rows.x**2, axis=1)
    else:
        slope = np.ones(len(norm))
        of_sd = np.abs(rows.x).max(axis=1) / np.sqrt(2 * np.pi)
        of_sd = of_sd * (2 if used.kind == "absolute" else 1)
    of_sd, sd = (0.0, 0.0) if point else (of_sd, used.s)
    reach = np.sqrt(rows.x.shape[1] * (used.bound**2 + sd**2))
    return float(np.sqrt((slope * norm) ** 2 + of_sd**2).max() + used.h * reach)


# Both forms of a bound, and all orders of the same rows, share the infimum.
@lru_cache(maxsize=64)
def _smallest_with_penalty(used: TheoremSettings, x: bytes, y: bytes) -> float:
    """Return inf_u or inf_q of the sum of losses and the learner's penalty."""
    rows = _rows(x, y)
    size, d = rows.x.shape
    if used.theorem == OGA:
        weight = 1 / used.eta + used.h * size
        return best_fixed.smallest(rows, used.kind, used.bound, weight)
    penalty = _kl if used.theorem == SVA else _distance

    def objective(packed: np.ndarray) -> tuple[float, np.ndarray]:
        m, sd = packed[:d], packed[d:]
        tau = np.sqrt(square @ sd**2)
        value, slope, curvature = Loss(used.kind).expected(rows.y, rows.x @ m, tau)
        cost, of_m, of_sd = penalty(m, sd, used)
        ridge = used.h * size
        total = value.sum() + cost + 0.5 * ridge * packed @ packed
        of_m = of_m + slope @ rows.x + ridge * m
        of_sd = of_sd + sd * (curvature @ square + ridge)
        return total, np.concatenate([of_m, of_sd])

    square = rows.x**2
    box = [(-used.bound, used.bound)] * d + [(SMALLEST_SD * used.s, used.s)] * d
    return _minimum(objective, np.concatenate([np.zeros(d), np.full(d, 0.5 * used.s)]), box)


def _kl(
    m: np.ndarray, sd: np.ndarray, used: TheoremSettings
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return KL(N(m, sd^2), N(0, s^2)) / eta and its gradients."""
    scale = used.eta * used.s**2
    value = ((m @ m + sd @ sd) / used.s**2 - len(m) - 2 * np.log(sd / used.s).sum()) / 2
    return value / used.eta, m / scale, sd / scale - 1 / (used.eta * sd)


def _distance(
    m: np.ndarray, sd: np.ndarray, used: TheoremSettings
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return |(m, sd) - (0, s)|^2 / (2 eta s^2) and its gradients."""
    scale = used.eta * used.s**2
    offset = sd - used.s
    return (m @ m + offset @ offset) / (2 * scale), m / scale, offset / scale


@lru_cache(maxsize=64)
def _smallest_with_spread(used: TheoremSettings, x: bytes, y: bytes, score_sd: bytes) -> float:
    """Return inf over u of sum E l(y_t, N(<u, x_t>, score_sd_t^2)) + H T / 2 |u|^2."""
    rows, spread = _rows(x, y), np.frombuffer(score_sd)
    size, d = rows.x.shape

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = Loss(used.kind).expected(rows.y, rows.x @ u, spread)
        ridge = used.h * size
        return value.sum() + 0.5 * ridge * u @ u, slope @ rows.x + ridge * u

    return _minimum(objective, np.zeros(d), [(-used.bound, used.bound)] * d)


def _rows(x: bytes, y: bytes) -> Examples:
    targets = np.frombuffer(y)
    return Examples(np.frombuffer(x).reshape(len(targets), -1), targets)


def _minimum(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    box: list[tuple[float, float]],
) -> float:
    result = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": 2000}
    )
    return float(result.fun)
