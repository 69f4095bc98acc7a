"""Soft reset: before each task the posterior moves towards the prior by a factor that data choose.

With the initial prior N(m0, V0) and the posterior N(m, V) of the task before, a task is learnt from

    N(g m + (1 - g) m0, g^2 V + (1 - g^2) V0),

an Ornstein-Uhlenbeck step of factor g (broadening `ou`): 1 changes nothing, 0 is the prior. The
task chooses g, and is then learnt from the moved posterior. With L(g) the log evidence of the task
under it, in nats, divided by the temperature:

- `ou-posterior`: nu, the posterior probability that nothing has changed, from L(1) + log(1 - h) and
  L(0) + log h. If nu is at least the threshold, g = nu; otherwise the prior learns the task
  (RL-OUPR of Duran-Martin et al. 2025, whose code moves to N(0, I), and lets no task with a reset
  be learnt).
- `grid`: the g with the largest L(g) plus log prior, which is 1 - h for g = 1, and h in equal parts
  for the others.
- `gradient`: g = exp(-eta / 2), where eta climbs L, by differences, from task to task (CPP-OU
  of the same paper; Titsias et al. 2024 with the prior mean 0; Galashov et al. 2024 for networks).
  An outlier would make eta so large that its gradient, which has a factor g, vanishes; so eta has a
  bound.

The prediction before the task is the mixture over the choices, with their prior probabilities; for
`gradient` it is that of the eta so far. The first task has the prior as it is. Needs a learner with
`broaden` and a log evidence; what its broadening keeps, such as the noise of `bayes-linear`, a
reset keeps. Knows: the hazard, or the rate.

State: the learner's as base.*; [S, 1] each: eta; run_length, the tasks since the last reset, -1
before the first; step, the number of tasks; ahead, whether a task has begun (`drift`).
Info: the learner's, of the fit that is kept, but log_evidence is that of the mixture; factor, g;
run_length; shift, whether g is below the threshold; alarm_statistic, the log odds of a change, or
eta; parent and log_weight, 0: to metrics it is a beam of one hypothesis. All [S, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval

from shiftbench.core.facts import Facts
from shiftbench.core.interface import (
    Batch,
    Broadening,
    Info,
    Learner,
    LearnerError,
    Predictive,
    Problem,
    State,
    mapped,
    part,
    prefixed,
)
from shiftbench.methods.combinators import _factor_choice
from shiftbench.methods.combinators._factor_choice import Choice, Rule
from shiftbench.methods.state_parts import stack, take, where

FACTS = Facts(
    offers=("changes", "lineage", "alarm_statistic"),
    refuses=("counts", "mixed"),
    from_learner=("broaden", "log_evidence"),
    passes=("level", "mean", "log_evidence"),
    warms="inside",
)


@dataclass(frozen=True)
class Settings:
    choice: Literal["ou-posterior", "grid", "gradient"] = "ou-posterior"
    """Choice of the factor g: the probability of no change, the best of a grid, or by gradients."""
    hazard: Annotated[float, Interval(gt=0, lt=1)] = 0.01
    """ou-posterior, grid: prior probability h of a change before a task."""
    threshold: Annotated[float, Interval(ge=0, le=1)] = 0.5
    """Factor below which a task counts as a change; ou-posterior: below which it is a reset."""
    grid: tuple[float, ...] = (1.0, 0.95, 0.8, 0.5, 0.0)
    """grid: factors from 1 downwards."""
    rate: Annotated[float, Gt(0)] = 0.01
    """gradient: step size of eta."""
    steps: Annotated[int, Ge(1)] = 1
    """gradient: steps of eta a task."""
    bound: Annotated[float, Gt(0)] = 2.0
    """gradient: largest eta; 2 is a factor of 0.37."""
    difference: Annotated[float, Gt(0)] = 0.0001
    """gradient: distance in eta of the evidences that give a slope (networks, in float32: 0.1)."""
    temperature: Annotated[float, Gt(0)] | Literal["observations"] = 1.0
    """T, which divides the log evidence; observations: the task's number of rows."""


def unsupported(settings: Settings) -> Iterator[str]:
    """Yield each reason why these settings exclude each other, with its remedy."""
    grid = list(settings.grid)
    falling = grid == sorted(set(grid), reverse=True)
    if len(grid) < 2 or grid[0] != 1 or grid[-1] < 0 or not falling:
        yield "the factors of a grid fall from 1, down to 0 at most; set grid to [1.0, 0.5, 0.0]"
    of_gradient = dict.fromkeys(("rate", "steps", "bound", "difference"), ("gradient",))
    used = {"hazard": ("ou-posterior", "grid"), "grid": ("grid",), **of_gradient}
    for name, choices in used.items():
        given = tuple(grid) if name == "grid" else getattr(settings, name)
        if settings.choice not in choices and given != getattr(Settings, name):
            yield (
                f"{name} has no effect with choice {settings.choice}; leave it out, or set choice"
                f" to {' or '.join(choices)}"
            )


def work(settings, problem):
    """Return the problem inside, for a forecast: one for each evidence, and one for the factor."""
    fits = {"ou-posterior": 3, "grid": len(settings["grid"]), "gradient": 1 + 3 * settings["steps"]}
    return problem.repeated(fits[settings["choice"]])


def build(settings: Settings, problem: Problem, learner: Learner) -> Learner:
    """Build soft resets over a learner of one hypothesis; LearnerError for any other."""
    if learner.broaden is None:
        raise LearnerError(
            "soft-reset: the learner inside cannot be broadened; use one that offers `broaden`, as"
            " config/README.md lists"
        )
    on_grid, by_gradient = (settings.choice == one for one in ("grid", "gradient"))
    factors = tuple(settings.grid) if on_grid else (1.0, 0.0)
    rule = Rule(factors, settings.hazard, settings.threshold)
    choose = _factor_choice.best if on_grid else _factor_choice.by_probability

    def drift(state: State, seeds: np.ndarray) -> State:
        base = learner.drift(part(state, "base."), seeds)
        return state | prefixed(base, "base.") | {"ahead": np.ones_like(state["ahead"])}

    def predict(state: State, inputs: np.ndarray, seeds: np.ndarray) -> Predictive:
        base = part(state, "base.")
        if not state["ahead"].any():
            return learner.predict(base, inputs, seeds)
        if by_gradient:
            return learner.predict(_moved(learner, base, _factor(state["eta"])), inputs, seeds)
        predictive = learner.predict(_candidates(learner, base, factors), inputs, seeds)
        before = rule.log_prior
        if state["step"].max() == 0:
            before = np.where(np.arange(len(factors)) == 0, 0.0, -np.inf)
        weights = np.broadcast_to(before, (len(seeds), len(factors)))
        return predictive._replace(log_weights=np.ascontiguousarray(weights))

    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, eta, seen = part(state, "base."), state["eta"], np.asarray(batch.mask.any(axis=1))
        fit = partial(_fit, learner, batch, seeds)
        if state["step"].max() == 0:
            after, info = fit(base)
            choice = _factor_choice.first(info["log_evidence"][:, 0])
        elif by_gradient:
            eta, choice = _climb(settings, learner, fit, base, eta, batch)
            after, info = fit(_moved(learner, base, choice.factor[:, None]))
        else:
            fitted = fit(_candidates(learner, base, factors))
            choice = choose(rule, fitted[1]["log_evidence"], _temperature(settings, batch))
            after, info = _kept(learner, fit, base, fitted, choice)
        return _settled(settings, state, after, info, choice, eta, seen)

    def warm_up(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        base, info = learner.begin(part(state, "base."), batch, seeds)
        return state | prefixed(base, "base."), info

    return Learner(partial(_init, learner), predict, observe, drift=drift, warm_up=warm_up)


def _init(learner: Learner, seeds: np.ndarray) -> State:
    """Return the state before the first task; LearnerError for several hypotheses inside."""
    base, size = learner.init(seeds), (len(seeds), 1)
    if next(iter(base.values())).shape[1] != 1:
        raise LearnerError("soft-reset: needs a learner of one hypothesis; set one model inside")
    whole = np.zeros(size, np.int64)
    return prefixed(base, "base.") | {
        "eta": np.zeros(size),
        "run_length": whole - 1,
        "step": whole,
        "ahead": np.zeros(size, bool),
    }


def _fit(learner: Learner, batch: Batch, seeds: np.ndarray, base: State) -> tuple[State, Info]:
    """Learn the task from a state of any number of hypotheses."""
    after, info = learner.observe(base, batch, seeds)
    if "log_evidence" not in info:
        raise LearnerError(
            "soft-reset: the learner inside gives no log evidence to choose by; use one that does,"
            " such as linear-gaussian or mfvi"
        )
    return after, info


def _moved(learner: Learner, base: State, factor: np.ndarray) -> State:
    """Return the state after a step of each repetition's factor [S, 1] towards the prior."""
    broaden = learner.broaden
    assert broaden is not None
    if (factor == factor[0]).all():
        return base if factor[0] == 1 else broaden(base, Broadening("ou", float(factor[0, 0])))
    alone = [{name: a[s : s + 1] for name, a in base.items()} for s in range(len(factor))]
    moved = [
        one if g == 1 else broaden(one, Broadening("ou", float(g)))
        for one, g in zip(alone, factor[:, 0], strict=True)
    ]
    return {name: np.concatenate([one[name] for one in moved]) for name in base}


def _candidates(learner: Learner, base: State, factors: tuple[float, ...]) -> State:
    """Return the states of all factors side by side, [S, C, ...]."""
    repetitions = len(next(iter(base.values())))
    return reduce(stack, (_moved(learner, base, np.full((repetitions, 1), g)) for g in factors))


def _factor(eta: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * eta)


def _temperature(settings: Settings, batch: Batch) -> np.ndarray:
    """Return the temperature of each repetition [S, 1]."""
    if settings.temperature == "observations":
        return np.maximum(batch.mask.sum(axis=1), 1)[:, None].astype(float)
    return np.full((len(batch.mask), 1), float(settings.temperature))


def _climb(settings: Settings, learner: Learner, fit, base: State, eta: np.ndarray, batch: Batch):
    """Return eta [S, 1] after its steps up the log evidence, and the choice that follows."""
    temperature, d, before = _temperature(settings, batch), settings.difference, eta
    for number in range(settings.steps):
        # Around eta, or from 0 on where it is there: a negative eta has no factor.
        low = np.maximum(eta - d, 0.0)
        states = (_moved(learner, base, _factor(low + place * d)) for place in range(3))
        value, slope = _factor_choice.parabola(
            fit(reduce(stack, states))[1]["log_evidence"], (eta - low) / d
        )
        before = before if number else value
        eta = np.clip(eta + settings.rate / d * slope / temperature, 0.0, settings.bound)
    slot = np.full(len(eta), -1)
    return eta, Choice(_factor(eta)[:, 0], slot, before[:, 0], eta[:, 0])


def _kept(
    learner: Learner, fit, base: State, fitted: tuple[State, Info], choice: Choice
) -> tuple[State, Info]:
    """Return the fit of the chosen factor: that of its candidate, or another one."""
    slot = np.maximum(choice.slot, 0)[:, None]
    after, info = (mapped(lambda a: take(a, slot), one) for one in fitted)
    again = choice.slot < 0
    if not again.any():
        return after, info
    # A factor without a candidate; 1 where there is one, whose fit here is not used.
    factor = np.where(again, choice.factor, 1.0)[:, None]
    state, other = fit(_moved(learner, base, factor))
    return where(again, state, after), where(again, other, info)


def _settled(
    settings: Settings,
    state: State,
    after: State,
    info: Info,
    choice: Choice,
    eta: np.ndarray,
    seen: np.ndarray,
) -> tuple[State, Info]:
    """Return State and Info after a task; a repetition without rows keeps what it had."""
    changed = (choice.factor < settings.threshold) & seen
    run_length = np.where(changed, 0, state["run_length"][:, 0] + 1)[:, None]
    new = prefixed(after, "base.") | {"eta": eta, "run_length": run_length}
    new = where(seen, new, state)
    new |= {"step": state["step"] + 1, "ahead": np.zeros_like(state["ahead"])}
    nothing = np.zeros(run_length.shape, np.int64)
    own = {
        "log_evidence": choice.evidence[:, None],
        "factor": choice.factor[:, None],
        "run_length": new["run_length"],
        "shift": changed[:, None].astype(np.int64),
        "alarm_statistic": np.where(seen, choice.statistic, 0.0)[:, None],
        "parent": nothing,
        "log_weight": nothing.astype(float),
    }
    return new, info | own
