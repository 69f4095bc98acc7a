"""Errors of form are told in our words, with what stands there and the remedy."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import TypeAdapter, ValidationError
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
        (int, "5", 'should be a whole number, such as 3 (it is "5"); take its quotes away'),
        (int, 2.5, "should be a whole number, such as 3 (it is 2.5)"),
        (int, {"a": 1}, "should be a whole number, such as 3 (it is a mapping)"),
        (float, "0.1", 'should be a number, such as 0.5 (it is "0.1"); take its quotes away'),
        (bool, "no", 'should be true or false (it is "no")'),
        (str, 3, "should be a text (it is 3)"),
        (list[int], 3, "should be a list, such as [a, b] (it is 3)"),
        (dict[str, int], [3], "should be a mapping, such as {key: value} (it is a list)"),
        (Annotated[int, Ge(1)], 0, "should be at least 1 (it is 0)"),
        (Annotated[float, Gt(0)], 0.0, "should be above 0.0 (it is 0.0)"),
        (Annotated[int, Le(9)], 10, "should be at most 9 (it is 10)"),
        (Annotated[float, Lt(1)], 1.0, "should be below 1.0 (it is 1.0)"),
        (Literal["a", "b"], "c", "should be 'a' or 'b' (it is \"c\")"),
        (Annotated[list[int], MinLen(1)], [], "should have at least 1 entries, and has 0"),
        (Annotated[list[int], MaxLen(1)], [1, 2], "should have at most 1 entries, and has 2"),
    ],
)
def test_what_should_stand_there_and_what_does(kind, given, words) -> None:
    assert form_errors.message(error_of(kind, given)) == words


def test_numbers_that_no_parser_reads_are_told_like_others() -> None:
    """Without the strict mode, as where a caller converts texts."""
    text = form_errors.message(error_of(int, "many", strict=False))
    assert text == 'should be a whole number, such as 3 (it is "many")'


def test_an_unknown_type_of_error_keeps_pydantics_words() -> None:
    error = {"type": "url_parsing", "input": "{}", "msg": "Input should be a URL, not {}"}
    assert form_errors.message(error) == 'should be a URL, not {} (it is "{}")'


def test_every_type_with_words_is_one_of_pydantics() -> None:
    assert form_errors.WORDS.keys() <= {*get_args(core_schema.ErrorType)}
