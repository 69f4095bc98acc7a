"""The form of the files in config/claims: claims of papers, as predicates over our scores."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, MinLen
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
        None,
        description="Methods in order, each with a larger score than the next; `by`: by how much.",
    )
    below: Chain | None = Field(None, description="The same with smaller scores.")
    by: Annotated[float, Ge(0)] | None = Field(
        None,
        description="The smallest difference, beside `above` or `below` with two methods.",
    )
    value: Values | float | None = Field(
        None,
        description="Methods with their scores, up to `within`. Beside `difference` or `ratio`: "
        "its value.",
    )
    within: Annotated[float, Ge(0)] | None = Field(
        None, description="The tolerance of `value`, or of the difference between two scores."
    )
    at_least: Values | None = Field(None, description="Methods with the lower bound of each score.")
    at_most: Values | None = Field(None, description="Methods with the upper bound of each score.")
    alike: Pair | None = Field(
        None, description="Two methods, whose scores differ by at most `within`."
    )
    difference: Pair | None = Field(
        None, description="Two methods; the first score minus the second is `value`."
    )
    ratio: Pair | None = Field(
        None,
        description="Two methods; the first score minus the second, as a share of the second, is "
        "`value`.",
    )
    of: Name | None = Field(None, description="The method whose two metrics are compared.")
    metric_below: str | None = Field(
        None, description="Another metric, which the claim's metric does not exceed."
    )
    metric_above: str | None = Field(
        None, description="Another metric, which the claim's metric does not fall below."
    )

    @property
    def predicate(self) -> str:
        """The key of the predicate."""
        return next(key for key in PREDICATES if getattr(self, key) is not None)

    @property
    def methods(self) -> list[str]:
        """The methods that the predicate is about, in their order."""
        if self.of is not None:
            return [self.of]
        methods: list[str] | dict[str, float] = getattr(self, self.predicate)
        return list(methods)

    @property
    def metrics(self) -> list[str]:
        """The metrics that the predicate is about beside the claim's."""
        return [name for name in (self.metric_below, self.metric_above) if name is not None]

    @model_validator(mode="after")
    def _one_predicate(self) -> Holds:
        written = {key for key in Holds.model_fields if getattr(self, key) is not None}
        predicate = next((key for key in PREDICATES if key in written), None)
        if predicate is None:
            raise ValueError(f"write one predicate: {', '.join(PREDICATES)}")
        needed, allowed = PREDICATES[predicate]
        if others := sorted(written - {predicate, *needed, *allowed}):
            raise ValueError(f'"{predicate}" does not go with "{others[0]}"')
        if missing := [key for key in needed if key not in written]:
            raise ValueError(f'"{predicate}" needs "{missing[0]}" beside it')
        if self.value is not None and isinstance(self.value, dict) != (predicate == "value"):
            raise ValueError("`value` is a number beside difference and ratio, else a mapping")
        if self.by is not None and len(self.methods) != 2:
            raise ValueError('"by" is for two methods')
        if len(set(self.methods)) != len(self.methods):
            raise ValueError("a method is listed twice")
        return self


class ClaimEntry(Model):
    """A statement of a paper: one entry of a file in `claims/`."""

    where: str = Field(
        description="The place: table with row and column, figure with panel, or section with a "
        "few words that stand there."
    )
    read: Literal["text", "table", "figure", "theorem", "code"] = Field(
        description="How the statement and its numbers were read: stated in the text, printed in "
        "a table, read off a figure, proved, or an output of public code."
    )
    says: str = Field(description="The statement, in our words.")
    stream: dict[str, Any] = Field(
        description="Family and settings that a stream must have, with defaults filled in; a list "
        "of values means any of them."
    )
    metric: str = Field(description="The metric that the claim is about.")
    holds: Holds = Field(description="The predicate that the scores must satisfy, see below.")
    over: float | None = Field(
        None,
        description="A threshold: the claim is about the share of configurations whose score "
        "exceeds it, in a study with `configurations`. A failed run does not exceed it.",
    )
    paper: str = Field("", description="The paper's numbers, as text.")
    ours_may: str = Field("", description="Why our numbers can differ.")
    code: str = Field("", description="The numbers of the authors' code.")
    check: bool = Field(
        False,
        description="It holds by proof or by definition, so that it checks our code. It is not "
        "counted among what is reproduced, and any budget judges it.",
    )
    not_run: str = Field("", description="Why no study at the budget of a few cores judges it.")
    exact: bool = Field(
        False,
        description="Neither data nor method is random, so all seeds have one score, and it "
        "decides.",
    )

    @property
    def family(self) -> Any:
        """The family of the claim's streams; None if none is given."""
        return self.stream.get("family")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the claim's streams must have."""
        return {key: value for key, value in self.stream.items() if key != "family"}


class Claim(ClaimEntry):
    """A claim with its name and the key of the paper that makes it."""

    name: Name
    work: str


class Finding(Model):
    """An error in a paper or in its public code, which one of our tests demonstrates."""

    kind: Literal["error", "misprint"] = Field(
        "error",
        description="A misprint is a number or sign in the text that is not the one behind the "
        "paper's own results, which appear with another.",
    )
    where: str = Field(description="Equation, figure or file.")
    says: str = Field(description="The error.")
    evidence: str = Field(description="The test that shows it, as `tests/FILE.py::TEST`.")
    effect: str = Field(description="The consequence of the error.")


def alternatives(wanted: Any) -> list[Any]:
    """Return the values that are accepted for a setting: a list of them, or one value."""
    return wanted if isinstance(wanted, list) else [wanted]
