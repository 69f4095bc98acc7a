"""Adapters report a missing library."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.long
@pytest.mark.parametrize(
    ("adapter", "package"),
    [("sklearn", "scikit-learn"), ("river", "river"), ("ruptures", "ruptures")],
)
def test_the_error_says_what_to_type(adapter, package) -> None:
    code = f"import sys; sys.modules['{adapter}'] = None; import shiftbench.adapters.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"needs {package}; type: pip install {package}" in done.stderr
