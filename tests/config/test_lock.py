"""The lock file pins all packages with hashes and names no registry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LOCK = Path("envs/requirements.lock").read_text(encoding="utf-8")
FILES = ("requirements", "networks", "workflow", "slurm", "clusters", "dev")
WANTED = "".join(Path(f"envs/{name}.in").read_text(encoding="utf-8") for name in FILES)


GPU_LOCK = Path("envs/requirements-gpu.lock").read_text(encoding="utf-8")


def names(lock: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))


@pytest.mark.parametrize("lock", [LOCK, GPU_LOCK])
def test_no_address(lock: str) -> None:
    assert "://" not in lock
    assert "index" not in lock


@pytest.mark.parametrize(("lock", "least"), [(LOCK, 100), (GPU_LOCK, 10)])
def test_every_package_has_a_hash(lock: str, least: int) -> None:
    packages = re.split(r"\n(?=[a-z])", lock.strip())
    assert len(packages) > least
    assert all("==" in package and "--hash=sha256:" in package for package in packages)


def test_every_wanted_package_is_locked_and_has_a_reason() -> None:
    lines = [line for line in WANTED.splitlines() if line and not line.startswith("#")]
    locked = names(LOCK)
    for line in lines:
        wanted, _, reason = line.partition("  # ")
        assert re.split(r"[<>=[]", wanted)[0] in locked
        assert reason


def test_the_lock_of_cudas_libraries_adds_to_the_other_and_changes_nothing() -> None:
    assert "nvidia-cudnn-cu12" in names(GPU_LOCK)
    assert not names(GPU_LOCK) & names(LOCK)
    tensorflow = re.search(r"^tensorflow==\S+", LOCK, re.MULTILINE)
    wanted = Path("envs/gpu.in").read_text(encoding="utf-8").splitlines()[1].partition("  #")[0]
    assert tensorflow and tensorflow[0].startswith(wanted.replace("[and-cuda]", ""))
