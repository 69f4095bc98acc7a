"""Reasons why something does not fit, and remedies, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from shiftbench.config import components
from shiftbench.config.compatibility_words import in_words, listed
from shiftbench.config.compatible_pipelines import (
    Given,
    Lack,
    Misfit,
    Part,
    Peers,
    any_part,
    misfit_of,
)
from shiftbench.core.facts import KINDS, NOT, Condition, holds

MOST_NAMES = 5
"""The most names in a remedy."""


def silence(part: Part, fact: str) -> str:
    """Say that a component does not declare a fact, and where to declare it."""
    file = components.path(part.kind, part.name).name
    declare = f"declare `FACTS = Facts({fact}=...)` in {part.kind}/{file}"
    return f'"{part.name}" does not say what it {fact}; {declare}'


def reason_for(misfit: Misfit | Lack) -> str:
    """Return the reason why a pipeline does not fit, with the remedy."""
    return why(misfit) if isinstance(misfit, Misfit) else _why_lacking(misfit)


def _why_lacking(lack: Lack) -> str:
    part, inner, words, learner, _ = lack
    if "boundary" in words:
        text = f"{part.label} does not pass on what the protocol reveals, and {learner.label}"
        return f"{text} needs it; take {part.label} out"
    text = f"{part.label} needs {in_words(sorted(words))} inside it, and {inner.label} has none"
    return f"{text}; {_other_inside(lack)}"


def _other_inside(lack: Lack) -> str:
    """Return the advice what to put into a combinator that lacks something."""
    part, _, needed, learner, now = lack
    if needed <= learner.words("offers"):
        return f"put {learner.label} directly inside {part.label}"
    possible = learner.facts.possible("offers")
    if needed <= possible.keys():
        return " and ".join(_set(possible[word], learner) for word in sorted(needed))
    found = [
        name
        for name in _learners_for(now)
        if part.words("from_learner") <= any_part("learners", name).words("offers")
    ]
    return _take(found, "inside it") if found else f"take {part.label} out"


def why(misfit: Misfit) -> str:
    """Return the reason of a misfit, with the remedy."""
    part, now, fact, word = misfit
    if fact == "unsupported":
        return f"{part.label}: {word}"
    if fact == "takes":
        takes = part.facts.possible("takes")
        if not takes:
            return silence(part, "takes")
        text = f"{part.label} takes {in_words(takes, 'or')}, and {now.giver.label} gives"
        return f"{text} {in_words([word])}; {_other_kind(part, takes, now)}"
    if fact == "requires":
        owner = _owner(word, now)
        text = f"{part.label} needs {in_words([word])}, which {owner.label} does not have"
        return f"{text}; {_with_word(word, owner)}"
    owner = now.has.get(word, now.giver)
    text = f"{part.label} does not go with {in_words([word])}, which {owner.label} has"
    return f"{text}; {_without_word(word, part, owner)}"


def _other_kind(part: Part, takes: Iterable[str], now: Given) -> str:
    """Return the remedy for a component that takes other kinds of problem."""
    if part.kind == "learners":
        for name in components.names("combinators"):
            between = any_part("combinators", name)
            if between.words("gives") & set(takes) and misfit_of(between, now) is None:
                return f'put "{name}" before it'
        return _take(_learners_for(now))
    if part.kind == "models":
        models = [name for name in components.names("models") if name != part.name]
        return _take([name for name in models if misfit_of(any_part("models", name), now) is None])
    return f"take {part.label} out, or take another stream"


def _learners_for(now: Given) -> list[str]:
    """Return the learners that fit what is given, with some settings of theirs."""
    names = components.names("learners")
    return [name for name in names if misfit_of(any_part("learners", name), now) is None]


def _owner(word: str, now: Given) -> Part:
    """Return the part that should have a missing property: the model if models can have it."""
    names = components.names("models")
    of_models = any(word in components.facts("models", name).possible("gives") for name in names)
    return now.model if of_models and now.model else now.giver


def _with_word(word: str, owner: Part) -> str:
    """Return how to get a property: by a setting of its owner, or by another component."""
    when = owner.facts.possible("gives").get(word)
    if when is not None:
        return _set(when, owner)
    others = [
        (name, possible[word])
        for name in components.names(owner.kind)
        if word in (possible := components.facts(owner.kind, name).possible("gives"))
    ]
    if not others:
        return "no component has it"
    named = [name if when is True else f"{name} ({spelled(when)})" for name, when in others]
    what = {"streams": "a stream of ", "models": "the model "}.get(owner.kind, "")
    return f"take {what}{listed(named, 'or')}"


def _without_word(word: str, part: Part, owner: Part) -> str:
    """Return how to avoid a property, or the component that refuses it."""
    own = part.facts.possible("refuses")[word]
    if own is not True:
        return _unset(own, part)
    when = _had(owner, word)
    if when is not True:
        return _unset(when, owner)
    if owner.kind == "combinators":
        return f"take {owner.label} out"
    if part.kind == "combinators" and word in KINDS:
        inner = _between(word)
        return f"put it behind {listed(inner, 'or')}" if inner else f"take {part.label} out"
    return f"take {part.label} out, or take another stream"


def _had(owner: Part, word: str) -> Condition:
    """Return the condition under which a component gives or offers a word; True for always."""
    given, offered = owner.facts.possible("gives"), owner.facts.possible("offers")
    return {**offered, **given}.get(word, True)


def _between(kind: str) -> list[str]:
    """Return the combinators that turn this kind of problem into another kind."""
    names = components.names("combinators")
    return [
        f'"{name}"'
        for name in names
        if kind in components.facts("combinators", name).possible("takes")
        and any_part("combinators", name).kinds()
    ]


def other_metric(part: Part, prediction: str, peers: Peers) -> str:
    """Return the advice to remove a metric, with the metrics that judge the prediction instead."""
    metrics = (any_part("metrics", name) for name in components.names("metrics"))
    found = [
        one.name
        for one in metrics
        if prediction in one.words("judges")
        and not any(misfit_of(one, now) for now in peers.streams.values())
    ]
    instead = f", and take {listed(found[:MOST_NAMES], 'or')} instead" if found else ""
    return f"take {part.label} out of the metrics{instead}"


def it_or_them(items: Sequence[str]) -> str:
    """Return the pronoun for one or several items."""
    return "it" if len(items) == 1 else "them"


def _take(names: Sequence[str], where: str = "") -> str:
    """Return the advice to take one of these components."""
    if not names:
        return "no component fits; take another stream"
    more = ["another one"] if len(names) > MOST_NAMES else []
    return f"take {listed([*names[:MOST_NAMES], *more], 'or')} {where}".rstrip()


def spelled(when: Condition) -> str:
    """Return the settings of a condition as a config has them."""
    if isinstance(when, bool):
        return "any settings"
    first = when if isinstance(when, Mapping) else when[0]
    written = [(key.startswith(NOT), key.removeprefix(NOT), of) for key, of in first.items()]
    return " and ".join(
        f"{key} other than {_either(values)}" if negated else f"{key}: {_either(values)}"
        for negated, key, values in written
    )


def _set(when: Condition, part: Part) -> str:
    """Return the advice to set the settings of a component that do not meet a condition."""
    if isinstance(when, bool):
        return "set any settings"
    first = when if isinstance(when, Mapping) else when[0]
    unmet = {
        key: values
        for key, values in first.items()
        if part.settings is None or not holds({key: values}, part.settings)
    }
    return "set " + " and ".join(_wanted(*item, part) for item in (unmet or first).items())


def _unset(when: Condition, part: Part) -> str:
    """Return the advice to change a setting of a component so that a condition no longer holds."""
    if isinstance(when, bool):
        return f"set other settings of {part.label}"
    first = when if isinstance(when, Mapping) else when[0]
    key, values = next(iter(first.items()))
    if key.startswith(NOT):
        key = key.removeprefix(NOT)
    elif all(isinstance(value, bool) for value in values):
        values = tuple(not value for value in values)
    else:
        key = NOT + key
    return f"set {_wanted(key, values, part, owned=True)}"


def _wanted(key: str, values: tuple, part: Part, owned: bool = False) -> str:
    """Return a setting with the values that it may take. owned: name its component, too."""
    name = key.removeprefix(NOT)
    if key.startswith(NOT) and (left := _left(part, name, values)):
        key, values = name, left
    what = f"`{name}` of {part.label}" if owned else f"`{name}`"
    return f"{what} to {'something other than ' if key.startswith(NOT) else ''}{_either(values)}"


def _left(part: Part, key: str, values: tuple) -> tuple[str, ...]:
    """Return the other values of a setting whose values are a few names; empty for others."""
    hint = get_type_hints(components.settings(part.kind, part.name))[key]
    names = get_args(hint) if get_origin(hint) is Literal else ()
    left = tuple(one for one in names if one not in values)
    return left if len(left) <= MOST_NAMES else ()


def _either(values: tuple) -> str:
    return listed([_value(value) for value in values], "or")


def _value(value: Any) -> str:
    """Return a value as it is written in a config."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, tuple) else str(value) or '""'
