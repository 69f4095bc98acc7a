"""Text of others, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text with escapes for control characters and for what is not a character at all.

    Otherwise a name in somebody's file could move the cursor, or hide what stands there.
    """
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
