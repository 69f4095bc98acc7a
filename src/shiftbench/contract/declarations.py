"""Contract of what components declare; the first line of each test is shown to users."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args

import pytest

from shiftbench.config import components
from shiftbench.config.compatibility_words import OFFERS, PROPERTIES
from shiftbench.config.components import OURS
from shiftbench.contract import selection
from shiftbench.core.facts import KINDS, NOT, PREDICTIONS, Facts, StudyKey
from shiftbench.core.suggestions import unknown

KIND = "streams"
"""Kind of component of tests that take only a name."""
CASES = [(kind, name) for kind in components.FOLDERS for name in selection.names(kind)]
ALL = KINDS | PROPERTIES | OFFERS
WORDS: dict[str, Collection[str]] = {
    "takes": KINDS,
    "gives": ALL,
    "offers": OFFERS,
    "requires": ALL,
    "refuses": ALL,
    "from_learner": OFFERS,
    "passes": OFFERS,
    "reveals": ("boundaries", "task_identity"),
    "judges": PREDICTIONS,
    "study": get_args(StudyKey),
    "blank": PROPERTIES,
}
"""Known words of each fact. Other facts hold sentences, or names of settings and metrics."""
ANSWERS = {
    "gives": ("requires", "refuses", "blank"),
    "offers": ("from_learner", "passes", "requires", "refuses"),
    "requires": ("gives", "offers"),
    "refuses": ("gives", "offers"),
    "from_learner": ("offers",),
    "passes": ("offers",),
    "blank": ("gives",),
}
"""For each fact, the facts by which other components of the package may add words."""
every_one = pytest.mark.parametrize("case", CASES, ids="-".join)


@every_one
def test_words_of_facts_are_known(case):
    """Each word of its FACTS is one of config/README.md, or another component has it, too."""
    facts = components.facts(*case)
    theorems = _theorems() if facts.theorem else ()
    wrong = [
        f"{fact}: {unknown('word', word, known)}"
        for fact, known in (_known(components.package_of(*case)) | {"theorem": theorems}).items()
        for word in facts.possible(fact)
        if word not in known
    ]
    assert not wrong, "; ".join(wrong)


@every_one
def test_facts_name_settings_that_exist(case):
    """A fact that holds with some settings names settings that it has."""
    kind, name = case
    has = () if kind in ("metrics", "artefacts") else components.fields(kind, name)
    facts = components.facts(*case)
    wrong = [
        f"{fact.name}: {unknown('setting', setting, has)}"
        for fact in fields(Facts)
        for condition in _conditions(getattr(facts, fact.name))
        for setting in condition
        if setting.removeprefix(NOT) not in has
    ]
    assert not wrong, "; ".join(wrong)


@pytest.mark.parametrize("name", selection.names("streams"))
def test_a_stream_gives_a_kind_of_problem(name):
    """Its fact `gives` has a kind of problem, which learners take."""
    assert KINDS.keys() & components.facts("streams", name).possible("gives")


@cache
def _known(package: str) -> dict[str, Collection[str]]:
    """Return the known words of each fact, with those that components of the package add."""
    all_facts = [
        components.facts(kind, name)
        for kind in components.FOLDERS
        for name in components.files(kind, package)
    ]
    added = {
        fact: {word for one in all_facts for answer in answers for word in one.possible(answer)}
        for fact, answers in ANSWERS.items()
    }
    known = {fact: {*words} | added.get(fact, set()) for fact, words in WORDS.items()}
    return {**known, "uses": components.names("metrics")}


def _theorems() -> set[str]:
    """Return the theorems that our learners name: they have a row in the table of regrets."""
    ours = [components.facts("learners", one) for one in components.files("learners", OURS)]
    return {word for one in ours for word in one.possible("theorem")}


def _conditions(words: Any) -> Iterator[Mapping[str, tuple]]:
    """Yield the mappings from settings to values in a fact."""
    for condition in words.values() if isinstance(words, Mapping) else ():
        alternatives = condition if isinstance(condition, tuple) else (condition,)
        yield from (one for one in alternatives if isinstance(one, Mapping))
