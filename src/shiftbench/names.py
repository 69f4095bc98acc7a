"""Names that people write, and what is said of those that nothing has.

Apart from the errors, which every run imports: another wording of a message is no reason to run
anything again.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from shiftbench.errors import UserError

LISTED = 100
"""Known names that a message lists at most: all components, not all words of a corpus."""


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
