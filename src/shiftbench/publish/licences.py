"""Licences that allow redistribution of data, and whether they are stated or presumed."""

from __future__ import annotations

import re

OPEN = ("CC BY", "CC BY-SA", "CC0", "MIT", "BSD", "Apache", "public domain")
"""Licences that allow anybody to redistribute; non-commercial ones do not count."""
_NAMES = "|".join(name.replace(" ", "[ -]") for name in OPEN)  # "CC-BY-4.0" is of SPDX
_LICENCE = "(?: [Ll]icen[cs]e)?"
_VERSION = r"(?:(?:,? |-)(?:version )?\d+(?:\.\d+)*(?:-[Cc]lause)?)?"
_PART = re.compile(rf"(?:{_NAMES}){_LICENCE}{_VERSION}{_LICENCE}|generated(?: by shiftbench)?")


def is_open(licence: str) -> bool:
    """Return whether each part of a licence is known to be open.

    As in raw_files.yaml, semicolons separate parts. A missing or unknown licence is not open.
    """
    # More words than a version make another licence, as "NC" or "no commercial use".
    return all(_PART.fullmatch(part.strip()) for part in licence.split(";"))


def in_words(licence: str, status: str) -> str:
    """Return a licence, and its status in raw_files.yaml unless the licence is stated."""
    return licence if status in ("", "stated") else f"{licence} ({status})"
