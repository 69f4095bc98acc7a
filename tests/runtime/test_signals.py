"""A signal at any line of a start ends the process before there is a job, or reaches the job."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests import interrupting

pytestmark = pytest.mark.usefixtures("signals_act")

FUNCTIONS = ["run_client", "run_stopping", "run_warm", "run_supervisor"]


def interrupted(name: str, number: int, step: int, *deep: str) -> list[interrupting.Outcome]:
    """Return the outcomes of a signal at the lines of a function, in order."""
    command = [sys.executable, "-m", "tests.interrupting", name, str(int(number)), str(step), *deep]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcomes = [interrupting.Outcome(*fields) for fields in json.loads(done.stdout)]
    assert not outcomes.pop().place, "all lines were tried"
    return outcomes


def check(name: str, number: int, outcomes: list[interrupting.Outcome]) -> None:
    """Assert that signals kill the process before it starts anything, and stop it cleanly later."""
    stopped = interrupting.ANSWER if name == "run_client" else 128 + number
    taken_over = [outcome.status for outcome in outcomes].index(stopped)
    assert taken_over > 0
    assert {outcome.status for outcome in outcomes[:taken_over]} == {-number}
    assert {outcome.status for outcome in outcomes[taken_over:]} == {stopped}
    if name == "run_client":
        assert all(outcome.sent == [-1] for outcome in outcomes[:taken_over])
        passed_on = [number in outcome.sent for outcome in outcomes[taken_over:]]
        assert passed_on == sorted(passed_on, reverse=True), "until the job has ended"
        assert any(passed_on)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signal_at_many_lines(name: str) -> None:
    check(name, signal.SIGTERM, interrupted(name, signal.SIGTERM, 4))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signal_at_every_line(name: str, number: signal.Signals) -> None:
    """Include lines of the standard library that start processes."""
    outcomes = interrupted(name, number, 1, "deep")
    assert len({outcome.place for outcome in outcomes}) > 40
    check(name, number, outcomes)
