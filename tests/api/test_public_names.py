"""The names that `import shiftbench` provides, and what the import loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shiftbench as sb

LIGHT = """
import sys
import shiftbench
assert not {"numpy", "xarray", "shiftbench.api"} & sys.modules.keys()
assert {"method", "changepoints", "stream", "run"} <= set(dir(shiftbench))
assert not {"numpy", "xarray"} & sys.modules.keys()
"""


def test_the_import_loads_no_numerical_library() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'metod'"):
        _ = sb.metod
