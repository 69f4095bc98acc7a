"""Cached jobs that run in the process of the test, in a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.cli import jobs
from shiftbench.core.errors import UserError
from shiftbench.runtime import cached_jobs


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    """Use a cache for the test alone, separate from that of compiled code."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(cached_jobs, "cache_folder", lambda: folder)
    return folder


@pytest.fixture
def called(own_cache, monkeypatch) -> list[str]:
    """Run jobs in this process, which has all imports; return the list of their names."""
    names: list[str] = []

    def run(job, command, outputs, bar) -> None:
        names.append(job.name)
        arguments = command[command.index(jobs.VERB) + 1 :]
        options = jobs.parser().parse_args([*arguments, "--output", *map(str, outputs)])
        try:
            assert not options.verb(options)
        except UserError as error:
            raise UserError(f"{job.name}: {error}") from None

    monkeypatch.setattr(cached_jobs, "_run", run)
    monkeypatch.setattr(cached_jobs, "_serve", lambda: None)
    return names
