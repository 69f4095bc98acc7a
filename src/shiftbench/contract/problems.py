"""Every learner and combinator over a small problem that fits it, and data for it."""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from shiftbench.config import components
from shiftbench.contract import selection
from shiftbench.core import seeds, shapes, state_checks
from shiftbench.core.errors import UserError
from shiftbench.core.facts import KINDS
from shiftbench.core.interface import Batch, Info, Learner, Problem, State
from shiftbench.core.prediction_checks import checked

QUICK = {"epochs": 2, "prediction_draws": 3, "elbo_draws": 2, "size": 2, "batch_size": 8}
QUICK |= {"draws": 40, "burn_in": 10, "chains": 4}
PREFERRED = (
    "classes", "design", "number", "value", "two-classes", "image", "word", "designs", "counts",
)  # fmt: skip
"""Kinds of problem, in the order in which a learner is tried on one that it takes."""
FIRST = "map"
"""The learner inside combinators that can take it: the golden digests were made with it."""
TRIED: tuple[dict[str, Any], ...] = ({}, {"beta_rlm": 0.1})
"""Settings to try on a learner; the first with which it offers what is needed is used."""
CASES = [(kind, name) for kind in ("learners", "combinators") for name in selection.names(kind)]
PREDICTS = "Predictions have the types and shapes that the interface names"
"""The check that a malformed prediction fails."""
STATES = "A state is a flat dict of NumPy arrays [seeds, hypotheses, ...] of numbers or flags."
INFOS = "Info has the same finite numbers [seeds, hypotheses, ...] after every task."
"""The checks that a malformed state or Info fails."""
S = 2


@dataclass(frozen=True)
class Parts:
    """Sizes of the problems, and the components that are tried on them.

    features: of classes, and of a word's contexts. regressors: of a series, of `points` rows a
    task. words: how many occur in counts of pairs; rows: of classes and counts in a task.
    """

    features: int = 4
    hidden: int = 6
    rows: int = 20
    regressors: int = 2
    points: int = 1
    words: int = 7

    @property
    def classes(self) -> Problem:
        return Problem("classification", (self.features,), 3, self.rows, 3)

    @property
    def headed(self) -> Problem:
        return Problem("classification", (self.features,), 6, self.rows, 3, heads=2)

    @property
    def two_classes(self) -> Problem:
        return Problem("classification", (self.regressors,), 2, self.rows, 3)

    @property
    def images(self) -> Problem:
        return Problem("classification", (self.features, self.features, 1), 3, self.rows, 3)

    @property
    def series(self) -> Problem:
        return Problem("regression", (1, 1, self.regressors), 1, self.points, 3)

    @property
    def several_designs(self) -> Problem:
        return Problem("regression", (2, 1, self.regressors), 1, self.points, 3)

    @property
    def table(self) -> Problem:
        return Problem("regression", (self.regressors,), 1, self.points, 3)

    @property
    def values(self) -> Problem:
        return Problem("regression", (0,), 1, self.points, 3)

    @property
    def pairs(self) -> Problem:
        """The problem of counts of pairs, with one word more than occurs."""
        return Problem("counts", (2,), self.words + 1, self.rows, 3)

    @property
    def word(self) -> Problem:
        return Problem("word", (self.features,), 2, self.rows, 3)

    def problem(self, kind: str, heads: bool = False) -> Problem:
        """Return the problem of a kind, one of `core.facts.KINDS`."""
        of_kind = {
            "classes": self.headed if heads else self.classes,
            "two-classes": self.two_classes,
            "image": self.images,
            "design": self.series,
            "designs": self.several_designs,
            "number": self.table,
            "value": self.values,
            "word": self.word,
            "counts": self.pairs,
        }
        return of_kind[kind]

    def case(
        self, kind: str, name: str, forward_calls: list | None = None
    ) -> tuple[Learner, Problem]:
        """A learner, or a combinator over one, whose predictions are checked.

        forward_calls grows by one at each trace of a learner's model.
        """
        is_learner = kind == "learners"
        learner, problem = self.learner(name, forward_calls) if is_learner else self.combined(name)
        return watched(learner, problem), problem

    def learner(
        self, name: str, forward_calls: list | None = None, **fields: Any
    ) -> tuple[Learner, Problem]:
        """The learner with these settings on the first kind of problem that it takes.

        forward_calls grows by one at each trace of a model.
        """
        module, made = components.load("learners", name), settings("learners", name, **fields)
        heads = "heads" in components.facts("learners", name).possible("requires")
        problem = self.problem(kind_of(name), heads)
        wanted = components.facts("learners", name).model
        if not wanted:
            return module.build(made, problem, None), problem
        if wanted == "shapes":
            model = shapes.describe("mlp", {"hidden": (self.hidden,)}, problem)
            return module.build(made, problem, model), problem
        mlp = components.load("models", "mlp")
        model = mlp.build(mlp.Settings(hidden=(self.hidden,)), problem)
        if forward_calls is not None:
            model = counted(model, forward_calls)
        return module.build(made, problem, model), problem

    def combined(self, name: str, **fields: Any) -> tuple[Learner, Problem]:
        """The combinator with these settings over a learner that it takes."""
        facts = components.facts("combinators", name)
        if KINDS.keys() & facts.possible("gives"):
            (kind,) = facts.possible("takes")
            return self.warmed_up(name), self.problem(kind)
        inner, given = inside(name)
        learner, problem = _inner(self, inner, tuple(given.items()))
        module = components.load("combinators", name)
        return module.build(settings("combinators", name, **fields), problem, learner), problem

    def warmed_up(self, name: str) -> Learner:
        """Return a learner of words whose `init` does a warm-up, for its vectors."""
        made = settings("combinators", name, dimension=self.features, block=3)
        inner, _ = self.learner(inside(name)[0])
        learner = components.load("combinators", name).build(made, self.pairs, inner)
        total = self.batch(self.pairs, seed=99)
        return replace(
            learner, init=lambda seeds: learner.begin(learner.init(seeds), total, seeds)[0]
        )

    def batch(self, problem: Problem, seed: int = 0) -> Batch:
        """Return the data of a task without masked rows; classes are easy to tell apart."""
        n, rng = problem.n_train, np.random.default_rng(seed)
        if problem.kind == "regression":
            inputs = rng.normal(size=(S, n, *problem.input_shape))
            targets = rng.normal(size=(S, n, problem.n_outputs))
        elif problem.kind in ("counts", "word"):
            # Both are drawn for either kind, because the golden digests rest on these numbers.
            pairs = np.stack([rng.permutation(self.words**2)[:n] for _ in range(S)])
            features = rng.normal(size=(S, n, self.features)).astype(np.float32)
            of_pairs = problem.kind == "counts"
            inputs = np.stack(np.divmod(pairs, self.words), axis=-1) if of_pairs else features
            targets = rng.integers(1, 9, (S, n, 1 if of_pairs else 2)).astype(np.float32)
        else:
            features, classes = math.prod(problem.input_shape), min(3, problem.n_outputs)
            targets = rng.integers(0, classes, (S, n))
            centres = 2 * np.eye(classes, features)
            inputs = centres[targets] + 0.3 * rng.normal(size=(S, n, features))
            if problem.heads > 1:
                inputs = np.concatenate([inputs, np.zeros((S, n, 1))], axis=2)
            inputs = inputs.reshape(S, n, *problem.row_shape).astype(np.float32)
        return Batch(inputs, targets, np.ones((S, n), bool))


PARTS = Parts()
"""The components on the sizes with which all of them are tested."""


@functools.cache
def _inner(parts: Parts, name: str, given: tuple[tuple[str, Any], ...]) -> tuple[Learner, Problem]:
    """Return a learner with these settings, shared by all combinators, because tracing is slow."""
    return parts.learner(name, **dict(given))


def watched(learner: Learner, problem: Problem) -> Learner:
    """Return the learner, which raises UserError for a malformed prediction, state or Info."""

    @functools.wraps(learner.observe)
    def observe(state: State, batch: Batch, seeds: np.ndarray) -> tuple[State, Info]:
        found = learner.observe(state, batch, seeds)
        if wrong := state_checks.fault(found, len(batch.mask)):
            check = INFOS if wrong.startswith("an Info") else STATES
            raise UserError(f"{check} It failed: `observe` returns {wrong}")
        return found

    return checked(replace(learner, observe=observe), problem, PREDICTS)


def kind_of(learner: str) -> str:
    """The kind of problem on which a learner is tried."""
    takes = components.facts("learners", learner).possible("takes")
    return next(kind for kind in PREFERRED if kind in takes)


def inside(combinator: str) -> tuple[str, dict[str, Any]]:
    """The learner on which a combinator is tried, with its settings: the first that it can take."""
    facts = components.facts("combinators", combinator)
    gives = [kind for kind in facts.possible("gives") if kind in KINDS]
    needed = facts.words("from_learner", {})
    # Ours: what is wrong with a user's learner is not the combinator's fault.
    ours = sorted(components.files("learners", components.OURS), key=lambda name: name != FIRST)
    for kind, name in product(gives or PREFERRED, ours):
        if kind_of(name) != kind or components.facts("learners", name).possible("requires"):
            continue
        for tried in TRIED:
            fields = {k: v for k, v in tried.items() if k in components.fields("learners", name)}
            made = components.check("learners", name, fields)
            if needed <= components.facts("learners", name).words("offers", made):
                return name, fields
    raise LookupError(f"no learner offers what {combinator} needs inside")


def settings(kind: str, name: str, **fields: Any) -> Any:
    """The component's defaults, with small budgets where it has any."""
    made = components.load(kind, name).Settings
    known = {k: v for k, v in QUICK.items() if k in made.__dataclass_fields__}
    return made(**known | fields)


def counted(model: Any, calls: list) -> Any:
    """The model, whose passes forward add to `calls` when they are traced."""
    return model._replace(forward=lambda *given: calls.append(1) or model.forward(*given))


def key(*names: str | int) -> np.ndarray:
    """Seeds [S, 2] of a step of a run."""
    return seeds.block(range(S), "contract", *names)


def moved_generators() -> tuple[str, str]:
    """Draw from the generators that all code of a process shares, and return their states.

    Without the draw, one that is always set to the same state would look as if it were left alone.
    """
    random.random()
    np.random.random()
    return generators()


def generators() -> tuple[str, str]:
    """Return the states of the generators that all code of a process shares."""
    return repr(random.getstate()), repr(np.random.get_state())
