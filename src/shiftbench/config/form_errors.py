"""Errors of pydantic in our words: what should stand there, and what does.

The only place that knows pydantic's types of errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MISSING = "this key is missing"
WHOLE, NUMBER = "should be a whole number, such as 3", "should be a number, such as 0.5"
TEXT, FLAG = "should be a text", "should be true or false"
LIST, MAPPING = "should be a list, such as [a, b]", "should be a mapping, such as {{key: value}}"
WORDS = {
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": "should be a whole number with fewer digits",
    "int_from_float": WHOLE,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "finite_number": "should be a finite number",
    "bool_type": FLAG,
    "bool_parsing": FLAG,
    "string_type": TEXT,
    "none_required": "should be null",
    "list_type": LIST,
    "tuple_type": LIST,
    "set_type": LIST,
    "frozen_set_type": LIST,
    "dict_type": MAPPING,
    "mapping_type": MAPPING,
    "model_type": MAPPING,
    "model_attributes_type": MAPPING,
    "dataclass_type": MAPPING,
    "greater_than": "should be above {gt}",
    "greater_than_equal": "should be at least {ge}",
    "less_than": "should be below {lt}",
    "less_than_equal": "should be at most {le}",
    "literal_error": "should be {expected}",
    "enum": "should be {expected}",
    "too_short": "should have at least {min_length} entries, and has {actual_length}",
    "too_long": "should have at most {max_length} entries, and has {actual_length}",
    "string_too_short": "should have at least {min_length} letters",
    "extra_forbidden": "this key is not known; take it out",
    "unexpected_keyword_argument": "this key is not known; take it out",
}
"""Words for each type of error, with what pydantic's context fills in."""
ALONE = ("too_short", "too_long", "extra_forbidden", "unexpected_keyword_argument")
"""Types of errors that are not about the value itself."""


def message(error: Mapping[str, Any]) -> str:
    """Return an error of pydantic in plain words: what should stand there, and what does."""
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        return MISSING
    if kind == "string_pattern_mismatch":
        return f'the name "{given}" may have small letters, digits and hyphens only'
    if kind == "string_too_long":
        limit = context["max_length"]
        return f"this name has {len(given)} characters; file names take at most {limit}"
    if kind == "value_error":
        return error["msg"].removeprefix("Value error, ")
    words = WORDS.get(kind, "").format_map(context)
    text = words or error["msg"].removeprefix("Input ")  # pydantic's are better than none
    return text if kind in ALONE else f"{text} (it is {_in_words(given)}){_remedy(text, given)}"


def _in_words(given: Any) -> str:
    """Return a value as a config has it, or what it is if that is long."""
    if isinstance(given, str | int | float | None):
        return json.dumps(given)
    return "a mapping" if isinstance(given, Mapping) else f"a {type(given).__name__}"


def _remedy(text: str, given: Any) -> str:
    """Return what to do about a number in quotes; else nothing, as the text says what to write."""
    if text not in (WHOLE, NUMBER) or not isinstance(given, str):
        return ""
    try:
        float(given)
    except ValueError:
        return ""
    return "; take its quotes away"
