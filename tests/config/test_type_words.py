"""The config reference has types in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen

from shiftbench.config import components, reference, type_words
from shiftbench.config.base_model import Name
from shiftbench.config.claim_schema import Pair
from shiftbench.config.schema import ComponentItem, OneLine

HINTS = {"__annotations__": {"a": complex}}


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (int, "a whole number"),
        (bool, "`true` or `false`"),
        (float | None, "a number"),
        (Name, "a name"),
        (OneLine, "one line of text"),
        (Pair, "a list of two names"),
        (Annotated[int, Ge(1)], "a whole number of at least 1"),
        (Annotated[int, Ge(1), Le(1024)] | None, "a whole number from 1 to 1,024"),
        (Annotated[float, Gt(0), Le(1)], "a number above 0 and at most 1"),
        (Annotated[float, Interval(ge=0, lt=0.5)], "a number of at least 0 and below 0.5"),
        (Annotated[float, Gt(0), Lt(1)], "a number above 0 and below 1"),
        (Annotated[float, Gt(0)] | Literal["fixed"], "a number above 0, or `fixed`"),
        (Literal["a", "b-c", "^"], '`a`, `b-c` or `"^"`'),
        (Literal["yes", "no", "1", "1e3", "null", "a"],
         '`"yes"`, `"no"`, `"1"`, `"1e3"`, `"null"` or `a`'),
        (list[Literal["a", "b"]], "a list with any of `a` or `b`"),
        (list[Literal["a"]], "`[a]` or `[]`"),
        (tuple[float, float, float, float, float], "a list of 5 numbers"),
        (Annotated[list[int], MinLen(12)], "a list of 12 or more whole numbers"),
        (tuple[str, ...], "a list of texts"),
        (tuple[float, float], "a list of two numbers"),
        (tuple[int, str], "a list of a whole number and text"),
        (Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)],
         "a list of one or more numbers above 0"),
        (str | dict[str, tuple[int, ...]], "text, or names, each with a list of whole numbers"),
        (dict[str, Any], "keys with values"),
        (ComponentItem | None, "a name, or `name: {settings}`"),
        (list[ComponentItem], "a list of names, each alone or as `name: {settings}`"),
    ],
)  # fmt: skip
def test_a_type_in_words(annotation: Any, said: str) -> None:
    assert type_words.words(annotation) == said


@pytest.mark.parametrize("annotation", [complex, list[bytes], dict[str, complex], int | complex])
def test_a_type_without_words_is_named_in_an_error(annotation: Any) -> None:
    with pytest.raises(TypeError, match=r"no words for the type <class '(complex|bytes)'>"):
        type_words.words(annotation)


def test_a_type_without_words_of_a_user_is_named(monkeypatch) -> None:
    monkeypatch.setattr(components, "settings", lambda *_: dataclass(type("S", (), HINTS)))
    with pytest.raises(TypeError):
        type_words.of_setting("learners", "map", "a")
    monkeypatch.setattr(components, "package_of", lambda *_: "mine")
    assert type_words.of_setting("learners", "map", "a") == "complex"


def test_settings_with_a_meaning_exist() -> None:
    for kind, name, key in type_words.OF_SETTINGS:
        assert key in components.fields(kind, name)


def test_the_reference_has_no_types_of_python() -> None:
    rows = re.findall(r"^\| `.*", reference.text(), re.MULTILINE)
    assert len(rows) > 400
    assert not [row for row in rows if re.search(r"Annotated|Literal|\w\[|\b(str|int)\b", row)]


def test_the_forms_that_users_write_are_of_keys() -> None:
    assert all(key in model.model_fields for model, key in reference.AS_WRITTEN)
