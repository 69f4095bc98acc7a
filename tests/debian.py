"""Install programs that tests need from Debian's packages."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest


def install(packages: tuple[str, ...], programs: tuple[str, ...]) -> None:
    """Install packages by apt if one of their programs is missing; skip the test if apt fails.

    One process installs at a time, since the workers of pytest would compete for apt's lock. No
    daemon of a package is started.
    """
    with _turn() if os.geteuid() == 0 else nullcontext():
        if not all(map(shutil.which, programs)):
            _get(packages)


@contextmanager
def _turn() -> Iterator[None]:
    """Hold a lock while root installs; other users could not open root's lock file."""
    with Path(tempfile.gettempdir(), "shiftbench-tests-debian.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _get(packages: tuple[str, ...]) -> None:
    wanted = ", ".join(packages)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip(f"not installed, and no root with apt-get: {wanted}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    get = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    with _without_daemons():
        for command in (["apt-get", "update"], get):
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"cannot be installed: {wanted}: {done.stderr.strip()[-200:]}")


@contextmanager
def _without_daemons() -> Iterator[None]:
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            policy.unlink()
