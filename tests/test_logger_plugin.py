"""The output of a run, from the records that Snakemake logs."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_shiftbench as plugin

JOBS = 20


class Progress:
    """Progress with a known remaining time, in which job 5 completes the study toy."""

    total, done = JOBS, 0
    results = {"toy": "results/a/studies/toy/figures/curve.png"}  # noqa: RUF012

    def start(self, job: int) -> None:
        self.started = job

    def finish(self, job: int) -> str | None:
        self.done += 1
        return "toy" if job == 5 else None

    def seconds_left(self) -> float:
        return 60.0 * (JOBS - self.done)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., plugin.LogHandler]:
    def make(dryrun: bool = False) -> plugin.LogHandler:
        settings = plugin.LogHandlerSettings(report=str(tmp_path / "report.json"))
        return plugin.LogHandler(SimpleNamespace(dryrun=dryrun), settings)

    return make


def log(handler: plugin.LogHandler, message: str, level: int = logging.INFO, **more: Any) -> None:
    handler.emit(logging.makeLogRecord({"msg": message, "levelno": level, **more}))


def info(job: int) -> dict[str, Any]:
    return {
        "event": LogEvent.JOB_INFO,
        "jobid": job,
        "rule_msg": f"Running job {job}",
        "rule_name": "run_method",
    }


def run(handler: plugin.LogHandler, folder: Path) -> None:
    """Log twenty jobs, of which the fifth completes a study and the last fails."""
    log(handler, "Building DAG of jobs...")
    log(handler, "", **{plugin.PROGRESS: Progress()})
    log(handler, "Job stats: many lines", event=LogEvent.RUN_INFO)
    for job in range(JOBS - 1):
        log(handler, "Select jobs to execute...")
        log(handler, "", **info(job))
        log(handler, "done", event=LogEvent.JOB_FINISHED, job_id=job)
        log(handler, "", event=LogEvent.PROGRESS, done=job + 1, total=JOBS)
    path = folder / "last.log"
    path.write_text("why it failed\n")
    last = JOBS - 1
    log(handler, "", **info(last))
    log(handler, "RuleException:\nCalledProcessError in file", logging.ERROR)
    for _ in range(2):  # Snakemake repeats errors at the end
        log(handler, "Error", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=last,
            rule_name="run_method", log=[str(path)])  # fmt: skip
    log(handler, "a warning of Snakemake", logging.WARNING)
    handler.close()


def test_elsewhere_than_on_a_terminal_there_is_a_line_now_and_then(made, tmp_path, capfd) -> None:
    run(made(), tmp_path)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == "" and "\x1b" not in err and "\r" not in err
    assert lines[0] == "20 jobs to do, about 20 min left"
    assert "toy is done: results/a/studies/toy/figures/curve.png" in lines
    assert [line for line in lines if " of 20 jobs done" in line] == [
        f"{done} of 20 jobs done, about {20 - done} min left" for done in range(2, 20, 2)
    ]
    assert lines.count("Failed: Running job 19") == 1 and lines.count("why it failed") == 1
    assert lines[-1] == "a warning of Snakemake"
    assert len(lines) == 1 + 1 + 9 + 5 + 1
    report = json.loads((tmp_path / "report.json").read_text())
    failed = {"job": "Running job 19", "log": str(tmp_path / "last.log")}
    assert report == {"done": JOBS - 1, "failed": [failed]}


def test_on_a_terminal_one_line_moves_below_what_is_said(made, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    outer, inner = os.openpty()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        for number, _ in kept:
            os.dup2(inner, number)
        handler = made()
        log(handler, "", **{plugin.PROGRESS: Progress()})
        assert not os.isatty(1) and not os.isatty(2), "jobs draw no bars of their own"
        os.write(2, b"said by a job\n")
        log(handler, "", **info(5))
        log(handler, "done", event=LogEvent.JOB_FINISHED, job_id=5)
        handler.close()
        assert os.isatty(1) and os.isatty(2)
    finally:
        for number, before in kept:
            os.dup2(before, number)
            os.close(before)
    told = b""
    os.set_blocking(outer, False)
    with suppress(BlockingIOError):  # everything is read
        while True:
            told += os.read(outer, 1 << 16)
    os.close(outer), os.close(inner)
    told = told.decode()
    assert "said by a job\r\n" in told
    assert "toy is done: results/a/studies/toy/figures/curve.png" in told
    assert " 1 of 20" in told and "about 20 min left" in told
    assert told.rstrip().endswith("\x1b[2K"), "the line is gone at the end"


def test_a_dry_run_says_all_and_reports_nothing(made, tmp_path, capfd) -> None:
    handler = made(dryrun=True)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log(handler, "Job stats: many lines", event=LogEvent.RUN_INFO)
    handler.close()
    assert capfd.readouterr().err == "Job stats: many lines\n"
    assert not (tmp_path / "report.json").exists()


def test_nothing_to_do_is_said_in_our_words(made, tmp_path, capfd) -> None:
    handler = made()
    log(handler, "Nothing to be done (all requested files are present and up to date).")
    handler.close()
    assert capfd.readouterr().err == "All results are up to date\n"
    assert json.loads((tmp_path / "report.json").read_text()) == {"done": 0, "failed": []}


def test_a_folder_that_another_run_has_locked_is_said_in_our_words(made, capfd) -> None:
    handler = made()
    log(handler, "Snakemake works in this folder (process 7 on here)", logging.WARNING)
    log(handler, "LockException:\nError: Directory cannot be locked. --unlock", logging.ERROR)
    handler.close()
    first, second = capfd.readouterr().err.splitlines()
    assert "process 7" in first
    assert second.startswith("Nothing was started, because another run writes these files")


def test_a_job_that_was_stopped_did_not_fail(made, tmp_path, capfd) -> None:
    handler = made()
    log(handler, "", **{plugin.PROGRESS: Progress()})
    log(handler, "", **info(1))
    log(handler, "Terminating processes on user request, this might take some time.")
    log(handler, "", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=1, rule_name="a", log=[])
    handler.close()
    assert "Failed" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (20, "less than a minute left"),
        (100, "about 2 min left"),
        (3 * 3600 + 300, "about 3 h 5 min left"),
        (100 * 3600, "about 4 days left"),
    ],
)
def test_time_is_told_in_units_that_suit_it(seconds, words) -> None:
    assert plugin._left(SimpleNamespace(seconds_left=lambda: seconds)) == words


def test_an_error_of_the_rules_is_told_without_its_places(made, capfd) -> None:
    handler = made()
    text = (
        'WorkflowError in file "/a/rules/common.smk", line 156:\n'
        "results/a: No space left on device; make room there and start again\n"
        '  File "/a/rules/common.smk", line 126, in __onstart\n'
        '  File "/a/rules/common.smk", line 156, in files_can_be_written'
    )
    log(handler, text, logging.ERROR)
    handler.close()
    told = "results/a: No space left on device; make room there and start again\n"
    assert capfd.readouterr().err == told


def test_one_job_is_one(made, capfd, monkeypatch) -> None:
    monkeypatch.setattr(Progress, "total", 1)
    handler = made()
    log(handler, "", **{plugin.PROGRESS: Progress()})
    handler.close()
    assert capfd.readouterr().err == "1 job to do, about 20 min left\n"
