"""Interpretation of Slurm's answers."""

from __future__ import annotations

import time

import pytest

from shiftbench.runtime import slurm


@pytest.mark.parametrize(
    ("span", "minutes"),
    [("0:30", 0.5), ("45", 0.75), ("59:00", 59), ("1:00:00", 60), ("2-01:00:00", 2940)],
)
def test_spans(span: str, minutes: float) -> None:
    assert slurm.minutes(span) == minutes


@pytest.mark.parametrize("word", ["UNLIMITED", "INVALID", "NOT_SET", ""])
def test_no_span(word: str) -> None:
    assert slurm.minutes(word) is None


def test_the_clock_is_that_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(slurm.JOB, raising=False)
    assert slurm.minutes_left() is None
    monkeypatch.setenv(slurm.JOB, "7")
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(time.time() + 600))
    assert slurm.minutes_left() == pytest.approx(10, abs=0.1)


def test_outside_slurm_nothing_is_requeued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(slurm.JOB, raising=False)
    assert not slurm.requeue()


@pytest.mark.parametrize(
    ("answer", "status"),
    [("   ExitCode=2:0\n", 2), ("   ExitCode=0:9\n", 137), ("   ExitCode=0:0\n", 0), (None, None)],
)
def test_exit_status_of_a_job(monkeypatch, answer, status) -> None:
    monkeypatch.setattr(slurm, "ask", lambda *_: answer)
    assert slurm.exit_status("7") == status
