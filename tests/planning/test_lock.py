"""The lock pins everything with hashes and names no registry."""

from __future__ import annotations

import re
from pathlib import Path

LOCK = Path("envs/requirements.lock").read_text(encoding="utf-8")
FILES = ("requirements", "slurm", "dev")
WANTED = "".join(Path(f"envs/{name}.in").read_text(encoding="utf-8") for name in FILES)


def test_no_address() -> None:
    assert "://" not in LOCK
    assert "index" not in LOCK


def test_every_package_has_a_hash() -> None:
    packages = re.split(r"\n(?=[a-z])", LOCK.strip())
    assert len(packages) > 100
    assert all("==" in package and "--hash=sha256:" in package for package in packages)


def test_every_wanted_package_is_locked_and_has_a_reason() -> None:
    lines = [line for line in WANTED.splitlines() if line and not line.startswith("#")]
    locked = set(re.findall(r"^([\w.-]+)==", LOCK, re.MULTILINE))
    for line in lines:
        wanted, _, reason = line.partition("  # ")
        assert re.split(r"[<>=[]", wanted)[0] in locked
        assert reason
