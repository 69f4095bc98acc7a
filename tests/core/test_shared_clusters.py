"""A later process reads the folder of compiled code and computes the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shiftbench.core import shared_clusters

CODE = """
import hashlib, shiftbench, numpy as np
from shiftbench.methods.networks.backend import fused, tf
x = np.random.default_rng(0).normal(size=(5, 3000)).astype(np.float32)
y = fused(lambda x: tf.nn.softmax(tf.sin(x) * tf.exp(x)))(x)
print(hashlib.sha256(y.numpy().tobytes()).hexdigest())
"""


def digest(folder: Path | None, threads: int = 1) -> str:
    """Return the digest of the numbers of a process with this folder."""
    environment = os.environ | {"SHIFTBENCH_THREADS": str(threads)}
    environment.pop(shared_clusters.VARIABLE, None)
    if folder:
        environment[shared_clusters.VARIABLE] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.long
def test_processes_share_what_one_has_compiled(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    alone, first = digest(None), digest(folder)
    (file,) = folder.rglob("*.pb")
    written = file.stat()
    second = digest(folder)
    assert alone == first == second
    assert [(file, file.stat().st_ino)] == [(f, f.stat().st_ino) for f in folder.rglob("*.pb")]
    assert file.stat().st_mtime_ns == written.st_mtime_ns


@pytest.mark.long
def test_other_numbers_of_threads_have_their_own_code(tmp_path: Path) -> None:
    assert digest(tmp_path, threads=1) == digest(tmp_path, threads=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["threads-1", "threads-2"]
