"""A stopped job is requeued as soon as Slurm answers, and no signal ends it before."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from shiftbench.cli import requeue, training
from shiftbench.core import exit_statuses
from shiftbench.evaluation.running import restart_guard
from shiftbench.evaluation.running.stop_signals import Stopped, StopSignals
from shiftbench.runtime import scratch_lock, slurm


@pytest.fixture
def end(monkeypatch):
    """Return a function that ends a job, with or without progress, given Slurm's answers."""
    monkeypatch.setattr(requeue, "ASK_SECONDS", 0.01)
    monkeypatch.setattr(requeue, "KILL_SECONDS", 0.0)
    before = {number: signal.getsignal(number) for number in requeue.SIGNALS}

    def end(*answers, advanced=True, reason="reason"):
        left = list(answers)
        monkeypatch.setattr(restart_guard, "has_advanced", lambda _: advanced)
        monkeypatch.setattr(slurm, "requeue", lambda: left.pop(0))
        assert requeue.end(Path("output"), Path("scratch"), reason) == exit_statuses.STOPPED
        assert not left

    yield end
    for number, handler in before.items():
        signal.signal(number, handler)


def test_it_asks_until_slurm_answers(end, caplog):
    with caplog.at_level("INFO"):
        end(None, None, True)
    assert "back in the queue" in caplog.text


def test_where_slurm_does_not_answer_it_ends(end, monkeypatch, caplog):
    monkeypatch.setattr(requeue, "PATIENCE_SECONDS", 0.0)
    end(None)
    assert "start it again to go on" in caplog.text


def test_one_that_gets_no_further_is_not_requeued(end, caplog):
    end(advanced=False)
    assert "no further than before" in caplog.text


def test_only_at_the_time_limit_the_remedy_is_more_minutes(end, received, caplog):
    with received(0) as stopping:
        end(False, reason=stopping.reason())
        end(advanced=False, reason=stopping.reason())
        assert caplog.text.count("raise `minutes` of the study") == 2
        signal.signal(signal.SIGTERM, stopping._stop)
        with suppress(Stopped):
            signal.raise_signal(signal.SIGTERM)
        caplog.clear()
        end(False, reason=stopping.reason())
    assert "SIGTERM; start it again to go on\n" in caplog.text


@pytest.fixture
def received():
    """Yield the class of stop signals, and restore the signal handlers after the test."""
    before = {number: signal.getsignal(number) for number in requeue.SIGNALS}
    yield StopSignals
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", requeue.SIGNALS)
def test_a_signal_raises_once_and_none_interrupts_the_saving(received, number):
    with received(60) as stopping:
        with pytest.raises(Stopped, match=signal.Signals(number).name):
            signal.raise_signal(number)
        for second in requeue.SIGNALS:
            signal.raise_signal(second)
        assert stopping.reason().startswith("signal SIG")


def test_after_the_time_limit_no_signal_interrupts_the_saving(received):
    with received(0) as stopping:
        assert "is over" in stopping.reason()
        signal.raise_signal(signal.SIGTERM)
        assert stopping.reason() == "signal SIGTERM"


@pytest.mark.parametrize("number", requeue.SIGNALS)
def test_a_second_signal_changes_nothing(end, monkeypatch, number):
    signal.signal(number, lambda *_: pytest.fail("the state was saved already"))
    monkeypatch.setattr(requeue.log, "warning", lambda *_: os.kill(os.getpid(), number))
    end(False)


def test_a_run_that_another_process_works_on_may_be_tried_again(monkeypatch) -> None:
    """A cluster does not try errors again, but this one passes."""

    def busy(*_):
        raise scratch_lock.Busy("process 1 works on this run")

    monkeypatch.setattr(training, "_run", busy)
    assert training.run({}, None) == exit_statuses.STOPPED
