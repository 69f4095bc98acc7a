"""Names that people write, and what is said of those that are unknown.

Apart from the errors, which every run imports: another wording of a message is no reason to run
anything again.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from shiftbench.core.errors import UserError

LISTED = 20
"""Known names that a message lists at most: all budgets or stream families, not all methods."""
NEAREST = 5
"""Names that a message lists where there are more, and none is close."""


def refuse_unknown(what: str, name: object, known: Iterable[object]) -> None:
    """UserError for a name that is not among the known ones."""
    known = list(known)
    if name not in known:
        raise UserError(unknown(what, name, known))


def unknown(what: str, name: object, known: Iterable[object]) -> str:
    """The message for a name that is not among the known ones, with names to write instead.

    That is the one that is close to it, or else all names, or the nearest if there are many.
    """
    names = [str(one) for one in known]
    if close := nearest(name, names):
        return f'unknown {what} "{name}"; did you mean "{close[0]}"?'
    if len(names) <= LISTED:
        return f'unknown {what} "{name}"; known: {", ".join(names) or "none"}'
    near = ", ".join(nearest(name, names, NEAREST, 0.0))
    return f'unknown {what} "{name}"; the nearest of {len(names):,}: {near}'


def nearest(
    name: object, known: Iterable[object], number: int = 1, similarity: float = 0.6
) -> list[str]:
    """The known names that are most like a name, best first, whatever their case.

    similarity: 0 takes any name, 1 only the same.
    """
    spelled = {str(one).lower(): str(one) for one in known}
    return [
        spelled[one] for one in get_close_matches(str(name).lower(), spelled, number, similarity)
    ]
