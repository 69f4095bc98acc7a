"""Jobs beyond a partition's limits are refused before submission."""

from __future__ import annotations

import pytest

from shiftbench.config import config_file
from shiftbench.core.errors import UserError
from shiftbench.runtime import slurm
from shiftbench.runtime.cluster import limits

SINFO = "debug*|infinite|4|16000\nsmall|30:00|2|3000\nsmall|30:00|1|9000+\n"


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("""\
studies:
  steps:
    title: Steps
    streams: {steps: {family: toy-step}}
    seeds: 1
    minutes: 60
    metrics: [log_predictive]
    methods:
      plain: [gaussian-mean]
      search: [beam, gaussian-mean]
""")
    return config_file.load(path)


@pytest.fixture(autouse=True)
def sinfo(monkeypatch):
    monkeypatch.setattr(slurm, "ask", lambda *command: SINFO if command[0] == "sinfo" else None)


def profile(tmp_path, text=""):
    path = tmp_path / "config.yaml"
    path.write_text(f"default-resources:\n  runtime: 30\n{text}")
    return path


def test_what_the_default_partition_gives_is_taken(plan, tmp_path):
    limits.refuse_beyond(plan, profile(tmp_path))


def test_all_that_is_beyond_a_partition_is_told_at_once(plan, tmp_path):
    with pytest.raises(UserError) as refused:
        limits.refuse_beyond(plan, profile(tmp_path, "  slurm_partition: small\n"))
    message = str(refused.value)
    assert "steps, plain: minutes 60, at most 30" in message
    assert "steps, search: minutes 60, at most 30" in message
    assert "memory_mb" not in message  # one of its nodes is large enough


def test_where_slurm_does_not_answer_nothing_is_refused(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "ask", lambda *command: None)
    limits.refuse_beyond(plan, profile(tmp_path, "  slurm_partition: small\n"))
