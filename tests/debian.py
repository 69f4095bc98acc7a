"""Programs that tests need and Debian has."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def install(packages: tuple[str, ...], programs: tuple[str, ...]) -> None:
    """Installs packages by apt where a program of theirs is not there; skips where it cannot."""
    if all(map(shutil.which, programs)):
        return
    wanted = ", ".join(packages)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip(f"not installed, and no root with apt-get: {wanted}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    get = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    for command in (["apt-get", "update"], get):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"cannot be installed: {wanted}: {done.stderr.strip()[-200:]}")
