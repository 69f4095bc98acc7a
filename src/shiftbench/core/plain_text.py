"""Text from files of users, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text with escapes for control characters and other characters that do not print.

    Otherwise a name in somebody's file could move the cursor or hide other text.
    """
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
