"""Fixtures shared by the tests of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import job_calls
from tests.cached_calls import called, own_cache

__all__ = ["called", "own_cache"]

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
    rules = "build_stream", "run_method", "summarise_study"
    job_calls.make(folder / "mine.yaml", folder / "mine", *rules)
    return folder / "mine"
