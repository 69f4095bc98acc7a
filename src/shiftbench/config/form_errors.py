"""Plain messages for pydantic's types of errors: what is expected, and what is there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from shiftbench.config import yaml_lines

MISSING = "this key is missing"
WHOLE, NUMBER = "should be a whole number, such as 3", "should be a number, such as 0.5"
TEXT, FLAG = "should be text", "should be true or false"
LIST, MAPPING = "should be a list, such as [a, b]", "should be a mapping, such as {{key: value}}"
UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""Types of errors about a key that a model or a dataclass does not have."""
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
    "too_short": "needs at least {min_length} {entries} (it has {actual_length})",
    "too_long": "takes at most {max_length} {entries} (it has {actual_length})",
    "string_too_short": "should have at least {min_length} {characters}",
    **dict.fromkeys(UNKNOWN_KEY, "this key is not known; take it out"),
}
"""Message for each type of error, with fields from pydantic's context."""
OWN = ("finite_number", "int_parsing_size")
"""Types of errors whose message says more than the type of a setting does."""
REMOVE_QUOTES = "; remove the quotes"
LONGEST = 60
"""The most characters of a list or a mapping that a message shows."""
ALONE = ("too_short", "too_long", *UNKNOWN_KEY)
"""Types of errors that are not about the value itself."""


def message(error: Mapping[str, Any]) -> str:
    """Return an error of pydantic in plain words: what is expected, and what is there."""
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
    words = WORDS.get(kind, "").format_map(context | _plurals(context))
    text = words or error["msg"].removeprefix("Input ")  # pydantic's are better than none
    return text if kind in ALONE else f"{text} (it is {_in_words(given)}){_remedy(error)}"


def of_setting(errors: Sequence[Mapping[str, Any]], fits: str, given: Any) -> str:
    """Return the errors of one setting in a sentence; a union gives an error for each branch.

    fits: the type of the setting in words. given: its whole value.
    """
    first = errors[0]
    if first["type"] in ("missing", "value_error"):
        return f"{message(first)}; write {fits}"
    if first["type"] in OWN:
        return message(first)
    entries = [part for part in first["loc"][1:] if isinstance(part, int)]
    if isinstance(given, list) and entries:
        shown = f"entry {entries[0] + 1} is {_in_words(first['input'])}"
        return f"should be {fits} ({shown}){_remedy(first)}"
    remedy = next(filter(None, map(_remedy, errors)), "")
    return f"should be {fits} (it is {_in_words(given, LONGEST)}){remedy}"


def _plurals(context: Mapping[str, Any]) -> dict[str, str]:
    """Return the nouns of what is counted, in the singular for a limit of one."""
    one = 1 in (context.get("min_length"), context.get("max_length"))
    nouns = {"entries": "entry", "characters": "character"}
    return {many: single if one else many for many, single in nouns.items()}


def _in_words(given: Any, longest: int = 0) -> str:
    """Return a value as a config has it, or what it is if a list or a mapping is longer."""
    if isinstance(given, str | int | float | None):
        return json.dumps(given)
    if len(text := json.dumps(given, default=str)) <= longest:
        return text
    return "a mapping" if isinstance(given, Mapping) else f"a {type(given).__name__}"


def _remedy(error: Mapping[str, Any]) -> str:
    """Return the remedy for a number in quotes; empty otherwise, because the message has it."""
    text, given = WORDS.get(error["type"]), error["input"]
    if text not in (WHOLE, NUMBER) or not isinstance(given, str):
        return ""
    bare = yaml_lines.without_quotes(given)
    fits = type(bare) is int or (text == NUMBER and type(bare) is float and math.isfinite(bare))
    return REMOVE_QUOTES if fits else ""
