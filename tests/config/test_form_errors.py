"""Errors of form are reported in our words, with the value and the remedy."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import FiniteFloat, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, core_schema

from shiftbench.config import form_errors


def error_of(kind: Any, given: object, strict: bool = True) -> ErrorDetails:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(given, strict=strict)
    return caught.value.errors(include_url=False)[0]


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (int, "many", 'should be a whole number, such as 3 (it is "many")'),
        (int, "5", 'should be a whole number, such as 3 (it is "5"); remove the quotes'),
        (int, "1.5", 'should be a whole number, such as 3 (it is "1.5")'),
        (int, "", 'should be a whole number, such as 3 (it is "")'),
        (float, "nan", 'should be a number, such as 0.5 (it is "nan")'),
        (float, "[1", 'should be a number, such as 0.5 (it is "[1")'),
        (float, "2", 'should be a number, such as 0.5 (it is "2"); remove the quotes'),
        (float, "1e-3", 'should be a number, such as 0.5 (it is "1e-3"); remove the quotes'),
        (Annotated[list[int], MinLen(2)], [1], "needs at least 2 entries (it has 1)"),
        (Annotated[str, MinLen(2)], "a", 'should have at least 2 characters (it is "a")'),
        (int, 2.5, "should be a whole number, such as 3 (it is 2.5)"),
        (int, {"a": 1}, "should be a whole number, such as 3 (it is a mapping)"),
        (float, "0.1", 'should be a number, such as 0.5 (it is "0.1"); remove the quotes'),
        (bool, "no", 'should be true or false (it is "no")'),
        (str, 3, "should be text (it is 3)"),
        (list[int], 3, "should be a list, such as [a, b] (it is 3)"),
        (dict[str, int], [3], "should be a mapping, such as {key: value} (it is a list)"),
        (Annotated[int, Ge(1)], 0, "should be at least 1 (it is 0)"),
        (Annotated[float, Gt(0)], 0.0, "should be above 0.0 (it is 0.0)"),
        (Annotated[int, Le(9)], 10, "should be at most 9 (it is 10)"),
        (Annotated[float, Lt(1)], 1.0, "should be below 1.0 (it is 1.0)"),
        (Literal["a", "b"], "c", "should be 'a' or 'b' (it is \"c\")"),
        (Annotated[list[int], MinLen(1)], [], "needs at least 1 entry (it has 0)"),
        (Annotated[list[int], MaxLen(1)], [1, 2], "takes at most 1 entry (it has 2)"),
    ],
)
def test_what_should_stand_there_and_what_does(kind, given, words) -> None:
    assert form_errors.message(error_of(kind, given)) == words


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (Annotated[int, Ge(1)], 0, "should be FITS (it is 0)"),
        (Annotated[int, Ge(1)], "5", 'should be FITS (it is "5"); remove the quotes'),
        (Literal["fixed"] | float, "0.5", 'should be FITS (it is "0.5"); remove the quotes'),
        (list[Annotated[int, Ge(1)]], [3, 0], "should be FITS (entry 2 is 0)"),
        (list[int], {"a": 1}, 'should be FITS (it is {"a": 1})'),
        (list[int], {"a": "b" * 60}, "should be FITS (it is a mapping)"),
        (FiniteFloat, float("nan"), "should be a finite number (it is NaN)"),
    ],
)
def test_a_setting_has_one_sentence_with_its_type(kind, given, words) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(dict[str, kind]).validate_python({"a": given}, strict=True)
    assert form_errors.of_setting(caught.value.errors(), "FITS", given) == words


def test_numbers_that_no_parser_reads_are_told_like_others() -> None:
    """Without the strict mode, as where a caller converts texts."""
    text = form_errors.message(error_of(int, "many", strict=False))
    assert text == 'should be a whole number, such as 3 (it is "many")'


def test_an_unknown_type_of_error_keeps_pydantics_words() -> None:
    error = {"type": "url_parsing", "input": "{}", "msg": "Input should be a URL, not {}"}
    assert form_errors.message(error) == 'should be a URL, not {} (it is "{}")'


def test_every_type_with_words_is_one_of_pydantics() -> None:
    assert form_errors.WORDS.keys() <= {*get_args(core_schema.ErrorType)}
