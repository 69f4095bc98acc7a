"""Facts that a component declares in `FACTS`, which are read without the rest of its file.

A fact is a set of values; each holds always, or only with some settings: {value: condition}. A
condition is True, or the values that settings take, {"setting": (values), "not other": (values)},
of which all must hold, or a tuple of such mappings, of which one must.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Prediction = Literal["categorical", "gaussian", "student-t", "score", "pairs"]
StudyKey = Literal["axes", "baseline", "claims", "configurations", "predictions", "reference"]
Condition = bool | Mapping[str, tuple] | tuple[Mapping[str, tuple], ...]
Words = str | tuple[str, ...] | Mapping[str, Condition]
NOT = "not "
"""Stands before the name of a setting that must have none of the values."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts of one component. Brackets name the kinds of component that may declare a fact."""

    takes: str | tuple[str, ...] | Mapping[str, Condition | Prediction] = ()
    """Kinds of problem that it fits. A learner must declare them, each with the type of its
    prediction [all but streams]."""
    gives: Words = ()
    """Properties that it gives to the pipeline [streams, models] or to the component inside
    [combinators]. A stream lists its kind of problem here, too."""
    offers: Words = ()
    """Abilities that combinators around it, metrics and artefacts can use [learners,
    combinators]."""
    requires: Words = ()
    """Properties that the stream or the model must give [all but streams and models]."""
    refuses: Words = ()
    """Kinds of problem and properties that it does not work with [all but streams]."""
    from_learner: Words = ()
    """Abilities that the component inside must offer [combinators], or at least one method of the
    study [metrics, artefacts]."""
    passes: Words = ()
    """Abilities of the component inside that it passes on [combinators]."""
    warms: Words = ()
    """The only settings that its warm-up depends on, or `inside` if its warm-up is that of the
    component inside [combinators]."""
    reveals: tuple[str, ...] = ()
    """Facts of the protocol that it needs to know, `boundaries` or `task_identity` [learners,
    combinators]."""
    model: bool | Literal["shapes"] = False
    """True if it trains the study's model, `shapes` if it builds the model itself from a
    description of its layers [learners]."""
    theorem: Words = ()
    """The theorem that bounds its regret, a row of the table in `evaluation/theory/regret.py`
    [learners]."""
    judges: tuple[Prediction, ...] = ()
    """Types of prediction that it can score. Every method of the study must give predictions of one
    of them [metrics, artefacts]."""
    uses: tuple[str, ...] = ()
    """Metrics that it is made from [metrics, artefacts]."""
    rows: tuple[str, ...] = ()
    """Names of the reference rows or lines that it computes from the truth of a stream
    [artefacts]."""
    study: tuple[StudyKey, ...] = ()
    """Keys that the study must have; `predictions` is a value of the key `keeps` [metrics,
    artefacts]."""
    blank: tuple[str, ...] = ()
    """Properties of a stream for which the metric has no score; `check` prints a note [metrics]."""
    varies: Words | None = None
    """Differences between one realisation and the next [streams]."""
    ahead: Words = ()
    """Information in it that no learner could have yet [streams]."""

    def __post_init__(self) -> None:
        """Raise ValueError for a prediction or a kind of model that does not exist."""
        predictions = self.takes.values() if isinstance(self.takes, Mapping) else ()
        for prediction in predictions:
            if isinstance(prediction, str) and prediction not in get_args(Prediction):
                raise ValueError(f"takes: {prediction!r} is none of {', '.join(PREDICTIONS)}")
        if self.model not in (True, False, "shapes"):
            raise ValueError(f"model is {self.model!r}; it is one of True, False, 'shapes'")

    def possible(self, fact: str) -> Mapping[str, Any]:
        """Return the words that a fact may hold, each with its condition."""
        value = getattr(self, fact) or ()
        if not isinstance(value, Mapping):
            value = dict.fromkeys([value] if isinstance(value, str) else value, True)
        if fact != "offers":
            return value
        theorems = tuple(self.possible("theorem").values())
        of_theorem = {"theorem": True in theorems or theorems} if theorems else {}
        return {**value, **of_theorem, **({"boundary": True} if self.reveals else {})}

    def words(self, fact: str, settings: Mapping[str, Any]) -> frozenset[str]:
        """Return the words of a fact that hold with these settings, all filled in."""
        conditions = self.possible(fact).items()
        return frozenset(word for word, condition in conditions if holds(condition, settings))


KINDS: dict[str, str] = {
    "image": "images, each of one of several classes",
    "classes": "rows of features, each of one of several classes",
    "two-classes": "rows of features, each of one of two classes",
    "number": "rows of features, each with one real target",
    "value": "real values without inputs",
    "design": "real values with a design matrix each",
    "designs": "real values with several design matrices each",
    "counts": "counts of pairs of words",
    "word": "the counts of one word at a time",
}
PREDICTIONS: dict[str, str] = {
    "categorical": "probabilities of classes",
    "gaussian": "Gaussian densities of real values",
    "student-t": "Student's t densities of real values",
    "score": "a real score, no density",
    "pairs": "whether pairs of words occur",
}


def holds(condition: Condition, settings: Mapping[str, Any]) -> bool:
    """Return whether settings meet a condition."""
    if isinstance(condition, bool):
        return condition
    if isinstance(condition, Mapping):
        return all(_has(key, values, settings) for key, values in condition.items())
    return any(holds(alternative, settings) for alternative in condition)


def _has(key: str, values: tuple, settings: Mapping[str, Any]) -> bool:
    value = settings.get(key.removeprefix(NOT))
    among = (tuple(value) if isinstance(value, list) else value) in values
    return among != key.startswith(NOT)
