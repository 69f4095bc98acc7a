"""Fixtures shared by the tests of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.api import _cached_jobs
from shiftbench.cli import jobs
from shiftbench.core.errors import UserError
from tests import job_calls

CONFIG = """\
seeds_per_job: 2
studies:
  mine:
    title: mine
    streams: {steps: {family: toy-step, points: 12}}
    seeds: 3
    metrics: [log_predictive, jump_f1]
    methods:
      plain: [gaussian-mean]
      search: [beam: {size: 2}, gaussian-mean]
"""


@pytest.fixture(scope="session")
def workflows(tmp_path_factory) -> Path:
    """Return the results of a study made by the workflow's jobs."""
    folder = tmp_path_factory.mktemp("workflow")
    (folder / "mine.yaml").write_text(CONFIG)
    rules = "build_stream", "run_learner", "summarise_study"
    job_calls.make(folder / "mine.yaml", folder / "mine", *rules)
    return folder / "mine"


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    """Use a cache for the test alone, separate from that of compiled code."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(_cached_jobs, "cache_folder", lambda: folder)
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

    monkeypatch.setattr(_cached_jobs, "_run", run)
    monkeypatch.setattr(_cached_jobs, "_serve", lambda: None)
    return names
