"""The real data files, without which the tests that need them are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

MIRROR = Path(os.environ.get("SHIFTBENCH_MIRROR", "nowhere"))
needs_mirror = pytest.mark.skipif(
    not os.environ.get("SHIFTBENCH_MIRROR"), reason="needs the real files in SHIFTBENCH_MIRROR"
)
