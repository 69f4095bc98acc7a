"""Which licences allow that data are passed on."""

from __future__ import annotations

import re

OPEN = ("CC BY", "CC BY-SA", "CC0", "MIT", "BSD", "Apache", "public domain")
"""Licences that let anybody pass on what they cover. That of non-commercial use is none."""


def is_open(licence: str) -> bool:
    """Whether each part of a licence, as raw_files.yaml writes them, is known to be open.

    Parts stand between semicolons. What is not stated, or not known here, is not open.
    """
    parts = [part.strip() for part in licence.split(";")]
    return all(_is_open(part) for part in parts)


def _is_open(part: str) -> bool:
    known = "|".join(re.escape(name) for name in OPEN)
    # A word more, as in "CC BY-NC", is another licence; a version or a reason may follow.
    return bool(re.match(rf"(?:{known})(?![\w-])", part)) or part.startswith("generated")
