"""Errors that a user can mend: printed as one message, without a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 30
"""Known names that a message lists at most."""


class UserError(Exception):
    """Something outside the code is wrong; the message names the place and the remedy."""


def refuse_unknown(what: str, name: object, known: Iterable[object]) -> None:
    """UserError for a name that is not among the known ones."""
    known = list(known)
    if name not in known:
        raise UserError(unknown(what, name, known))


def unknown(what: str, name: object, known: Iterable[object]) -> str:
    """The message for a name that is not among the known ones: the nearest, or a list of them."""
    names = [str(one) for one in known]
    if close := get_close_matches(str(name), names, 1):
        return f'unknown {what} "{name}"; did you mean "{close[0]}"?'
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f'unknown {what} "{name}"; known: {", ".join(names[:LISTED]) or "none"}{more}'
