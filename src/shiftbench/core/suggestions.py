"""Messages about unknown names, with the names that the user may have meant.

Kept out of `errors`, which every run imports: another wording of a message must not make results
out of date.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from shiftbench.core.errors import UserError

LISTED = 20
"""The most names that a message lists: all budgets or stream families, but not all methods."""
NEAREST = 5
"""The number of names that a message lists if there are more, and none is close."""


def refuse_unknown(what: str, name: object, names: Iterable[object]) -> None:
    """Raise UserError if a name is not among the names that exist."""
    names = list(names)
    if name not in names:
        raise UserError(unknown(what, name, names))


def unknown(what: str, name: object, names: Iterable[object]) -> str:
    """Return the message for an unknown name: suggest the close one, else list all or the nearest.

    what: the kind of thing that the name stands for. names: all that exist.
    """
    candidates = [str(name) for name in names]
    if close := nearest(name, candidates):
        return f'unknown {what} "{name}"; did you mean "{close[0]}"?'
    if len(candidates) <= LISTED:
        return f'unknown {what} "{name}"; known: {", ".join(candidates) or "none"}'
    near = ", ".join(nearest(name, candidates, NEAREST, 0.0))
    return f'unknown {what} "{name}"; the nearest of {len(candidates):,}: {near}'


def nearest(
    name: object, names: Iterable[object], number: int = 1, similarity: float = 0.6
) -> list[str]:
    """Return the names that are most similar to a name, best first, whatever their case.

    similarity: the least that counts, from 0 (any name) to 1 (the same name).
    """
    spelled = {str(name).lower(): str(name) for name in names}
    close = get_close_matches(str(name).lower(), spelled, number, similarity)
    return [spelled[name] for name in close]
