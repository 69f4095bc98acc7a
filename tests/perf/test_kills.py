"""The tool that kills the workflow at random moments still works."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import checkout


@pytest.mark.long
@pytest.mark.parametrize("killed", [[], ["--server"]])
def test_a_killed_workflow_ends_with_the_same_bytes(killed: list[str]):
    command = [sys.executable, "-m", "perf.kills", "--times", "1", "--seed", "1", *killed]
    done = subprocess.run(command, cwd=checkout.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 resumed by the same command alone, 1 byte-identical" in done.stdout
