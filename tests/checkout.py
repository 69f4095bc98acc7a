"""The checkout that the tests are part of."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "published"
