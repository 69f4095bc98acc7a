"""Snakemake's records of the files that jobs made, read without Snakemake."""

from __future__ import annotations

import ast
import json
import os
from base64 import urlsafe_b64encode
from functools import cache
from pathlib import Path
from typing import Any

from shiftbench.data.store import checksum

FOLDER = Path(".snakemake")
FORMAT = 6
"""The first version of the record format that holds the params."""
LARGEST = 100_000_000
"""Size in bytes from which files are not compared by checksum, as in profiles/default."""
LONGEST_NAME = 254


def of(output: str) -> dict[str, Any]:
    """Return Snakemake's record of a file that a job made; empty without a record."""
    try:
        found = json.loads(place("metadata", output).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if found.get("record_format_version", 0) >= FORMAT else {}


def is_incomplete(output: str) -> bool:
    """Return whether a job that makes the file was killed before it ended."""
    return os.path.exists(output) and is_being_made(output)


def is_being_made(output: str) -> bool:
    """Return whether a job that makes the file has started and, as far as known, not ended."""
    return place("incomplete", output).exists()


def spec(record: dict[str, Any]) -> dict[str, Any]:
    """Return the spec that a file was made with; empty where the record has none."""
    for text in record.get("params") or ():
        if text.startswith("{"):
            return ast.literal_eval(text)
    return {}


def is_same(record: dict[str, Any], path: str) -> bool:
    """Return whether a file that a job read has the checksum that it had then."""
    known = (record.get("input_checksums") or {}).get(path)
    if known is None or os.path.getsize(path) >= LARGEST:
        return False
    return known == f"sha256:{_sha256(path, os.stat(path).st_mtime_ns)}"


@cache
def _sha256(path: str, changed: int) -> str:
    return checksum.sha256(Path(path))


def place(kind: str, path: str) -> Path:
    """Return where Snakemake records something of a file: its name in base64, in pieces if long."""
    name = urlsafe_b64encode(path.encode()).decode()
    pieces = [name[start : start + LONGEST_NAME] for start in range(0, len(name), LONGEST_NAME)]
    return Path(FOLDER, kind, *(f"@{piece}" for piece in pieces[:-1]), pieces[-1])
