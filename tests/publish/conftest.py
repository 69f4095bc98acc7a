"""A small crate, shared by the tests of publishing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.publish import crate
from tests.cached_calls import called, own_cache
from tests.publish import small_results

__all__ = ["called", "own_cache"]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with results/small, its config, and their crate."""
    folder = tmp_path_factory.mktemp("crate")
    results = small_results.make(folder)
    crate.make(results, folder / "config/small.yaml", folder / "crate")
    return folder
