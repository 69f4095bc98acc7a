"""The form of the files in config/claims: what papers claim, in predicates over our scores."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import Field, model_validator

from shiftbench.config.base_model import Model, Name

Pair = Annotated[list[Name], Field(min_length=2, max_length=2)]
Chain = Annotated[list[Name], MinLen(2)]
Values = Annotated[dict[Name, float], MinLen(1)]


class Companions(NamedTuple):
    """Keys that must, and keys that may, stand beside a predicate."""

    needed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


PREDICATES = {
    "above": Companions(allowed=("by",)),
    "below": Companions(allowed=("by",)),
    "alike": Companions(needed=("within",)),
    "difference": Companions(needed=("value", "within")),
    "ratio": Companions(needed=("value", "within")),
    "at_least": Companions(),
    "at_most": Companions(),
    "metric_below": Companions(needed=("of",)),
    "metric_above": Companions(needed=("of",)),
    "value": Companions(needed=("within",)),
}
"""The predicates; `value` last, because it also stands beside others."""


class Holds(Model):
    """One predicate over the scores of methods."""

    above: Chain | None = Field(
        None, description="Methods, each with a larger score than the next; `by`: by how much."
    )
    below: Chain | None = Field(None, description="The same with smaller scores.")
    by: Annotated[float, Ge(0)] | None = Field(
        None, description="Of `above` and `below` with two methods: the least difference."
    )
    value: Values | float | None = Field(
        None,
        description="Alone: methods with their scores, give or take `within`. Beside `difference` "
        "or `ratio`: the number that it is.",
    )
    within: Annotated[float, Ge(0)] | None = Field(
        None, description="How far from the value a number may be, or two scores apart."
    )
    at_least: Values | None = Field(None, description="Methods with the least score of each.")
    at_most: Values | None = Field(None, description="Methods with the largest score of each.")
    alike: Pair | None = Field(None, description="Two methods, apart by at most `within`.")
    difference: Pair | None = Field(
        None, description="Two methods; the first score minus the second is `value`."
    )
    ratio: Pair | None = Field(
        None,
        description="Two methods; the difference of the first from the second, as a share of the "
        "second, is `value`.",
    )
    of: Name | None = Field(None, description="The method whose two metrics are compared.")
    metric_below: str | None = Field(
        None, description="Another metric, which the claim's metric is not above, of this method."
    )
    metric_above: str | None = Field(
        None, description="Another metric, which the claim's metric is not below."
    )

    @property
    def predicate(self) -> str:
        """The key that says what is claimed."""
        return next(key for key in PREDICATES if getattr(self, key) is not None)

    @property
    def methods(self) -> list[str]:
        """The methods that it is about, in their order."""
        if self.of is not None:
            return [self.of]
        said: list[str] | dict[str, float] = getattr(self, self.predicate)
        return list(said)

    @property
    def metrics(self) -> list[str]:
        """The metrics that it is about beside the claim's."""
        return [name for name in (self.metric_below, self.metric_above) if name is not None]

    @model_validator(mode="after")
    def _one_predicate(self) -> Holds:
        written = {key for key in Holds.model_fields if getattr(self, key) is not None}
        found = [key for key in PREDICATES if key in written]
        if not found:
            raise ValueError(f"write one predicate: {', '.join(PREDICATES)}")
        needed, allowed = PREDICATES[found[0]]
        others = sorted(written - {found[0], *needed, *allowed})
        if others:
            raise ValueError(f'"{found[0]}" does not go with "{others[0]}"')
        if missing := [key for key in needed if key not in written]:
            raise ValueError(f'"{found[0]}" needs "{missing[0]}" beside it')
        if self.value is not None and isinstance(self.value, dict) != (found[0] == "value"):
            raise ValueError("`value` is a number beside difference and ratio, else a mapping")
        if self.by is not None and len(self.methods) != 2:
            raise ValueError('"by" is for two methods')
        if len(set(self.methods)) != len(self.methods):
            raise ValueError("a method stands here twice")
        return self


class ClaimEntry(Model):
    """What a paper says, as it is written: one entry of a file in `claims/`."""

    where: str = Field(description="Table, figure, section or equation of the paper.")
    says: str = Field(description="What it says, in our words.")
    stream: dict[str, Any] = Field(
        description="Family and settings that a stream must have, defaults filled in; a list of "
        "values means any of them."
    )
    metric: str = Field(description="The metric that it is about.")
    holds: Holds = Field(description="What must hold of the scores, see below.")
    over: float | None = Field(
        None,
        description="The claim is about the share of configurations whose score is above this (a "
        "run that failed is not), in a study that has `configurations`.",
    )
    paper: str = Field("", description="The paper's numbers, as text.")
    ours_may: str = Field("", description="Why our numbers can differ.")
    code: str = Field("", description="What the authors' code gives.")
    least: Annotated[float, Gt(0), Le(1)] = Field(
        0.25, description="Share of the paper's training below which there is no verdict."
    )
    exact: bool = Field(
        False,
        description="One seed is all there is, since neither data nor method is random: its score "
        "decides.",
    )

    @property
    def family(self) -> Any:
        """The family of its streams; None if it is not written."""
        return self.stream.get("family")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that its streams must have."""
        return {key: value for key, value in self.stream.items() if key != "family"}


class Claim(ClaimEntry):
    """A claim with its name and the key of the work that makes it."""

    name: Name
    work: str


class Finding(Model):
    """A wrong formula or a bug in a paper or in public code, which a test of ours shows."""

    where: str = Field(description="Equation, figure or file.")
    says: str = Field(description="What is wrong there.")
    evidence: str = Field(description="The test that shows it, as `tests/FILE.py::TEST`.")
    effect: str = Field(description="What comes of it.")
