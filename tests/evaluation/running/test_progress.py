"""The progress messages in the log of a long run."""

from __future__ import annotations

import logging

import pytest

from shiftbench.evaluation.running import progress


@pytest.fixture
def clock(monkeypatch, caplog):
    """Return a one-element list that holds the current time; log records are captured."""
    caplog.set_level(logging.INFO, logger="shiftbench")
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_told_from_tasks_and_not_from_the_warm_up(clock, caplog):
    shown = progress.Progress("study/stream/vbs", 49, -1)
    clock[0] += 400
    shown.advance("")
    clock[0] += 140
    shown.advance("")
    clock[0] += 120
    shown.advance("accuracy 0.912")
    assert caplog.messages == [
        "study/stream/vbs: warm-up",
        "study/stream/vbs: task 1 of 49, 1:52:00 left",
        "study/stream/vbs: task 2 of 49, accuracy 0.912, 1:41:50 left",
    ]


def test_a_resumed_run_goes_on_counting_and_has_a_line_every_ten_seconds(clock, caplog):
    shown = progress.Progress("run", 100, 60)
    for _ in range(40):
        clock[0] += 1
        shown.advance("")
    assert caplog.messages == [
        "run: task 60 of 100",
        "run: task 61 of 100, 00:39 left",
        "run: task 71 of 100, 00:29 left",
        "run: task 81 of 100, 00:19 left",
        "run: task 91 of 100, 00:09 left",
        "run: task 100 of 100, 00:00 left",
    ]
