"""Snakemake logger that shows the progress of a config: `snakemake --logger shiftbench`.

On a terminal, one line is updated: jobs done and the time left. Each finished study and each failed
job gets a line of its own. Without a terminal, a line is printed now and then instead. Snakemake's
whole log stays in its file. Snakemake finds this package by its name, and imports it before any
rule; so it imports nothing of shiftbench, whose object arrives with a record (PROGRESS) that the
rules log once the jobs are known.
"""

# No `from __future__ import annotations`: Snakemake reads the type of each option's field.

import json
import logging
import os
import re
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text
from snakemake.logging import show_logs
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

PROGRESS = "shiftbench_progress"
"""Attribute of the record with which the rules pass on the jobs to do."""
NOTHING_TO_DO = "Nothing to be done"
LOCKED = "LockException"
IS_LOCKED = (
    "Nothing was started, because another run writes these files. Wait until it ends, or stop it"
    " with Ctrl-C in its terminal. Then give the same command again"
)
OF_RULES = 'WorkflowError in file "'
STOPPING = "Terminating processes on user request"
SHARE_OF_LINES = 0.1
"""Share of the jobs after which a line is printed without a terminal."""
SECONDS_BETWEEN_UPDATES = 1.0
NOISE = (
    "Using workflow specific profile",
    "Assuming unrestricted shared filesystem",
    "Building DAG of jobs",
    "Using shell:",
    "Singularity containers: ignored",
    "Select jobs to execute",
    "Execute ",
    "Complete log",
    "Elapsed time",
    "Exiting because a job execution failed",
    "RuleException:\nCalledProcessError",  # a job's failure is shown from its log
    "WorkflowError:\nAt least one job did not complete successfully",
    NOTHING_TO_DO,
    STOPPING,
)
"""Beginnings of messages of Snakemake that do not interest users."""


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Options of the command line that begin with --logger-shiftbench-."""

    report: str = field(
        default="",
        metadata={"help": "File for what was done, as JSON; written if the workflow ran"},
    )


class LogHandler(LogHandlerBase):
    """Show the progress of the workflow."""

    def __post_init__(self) -> None:
        self._screen = _Screen()
        self._progress: Any = None
        self._messages: dict[int, str] = {}
        self._failed: dict[int, dict[str, str]] = {}
        self._ran = self._stopping = False
        self._shown = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one record of Snakemake's log."""
        try:
            self._emit(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Remove the progress line, and write the report."""
        self._screen.close()
        path = getattr(self.settings, "report", "")
        if path and self._ran:
            done = self._progress.done if self._progress else 0
            report = {"done": done, "failed": list(self._failed.values())}
            Path(path).write_text(json.dumps(report), encoding="utf-8")
        super().close()

    def _emit(self, record: logging.LogRecord) -> None:
        if self.common_settings.dryrun:
            self._screen.say(self.format(record))
            return
        event = getattr(record, "event", None)
        text = record.getMessage()
        if progress := getattr(record, PROGRESS, None):
            self._begin(progress)
        elif event == LogEvent.JOB_INFO:
            self._start(record)
        elif event == LogEvent.JOB_FINISHED:
            self._finish(record.job_id)  # type: ignore[attr-defined]
        elif event == LogEvent.JOB_ERROR:
            self._fail(record)
        elif record.levelno >= logging.WARNING or event is None:
            if text.startswith(NOTHING_TO_DO):
                self._ran = True
                self._screen.say("All results are up to date")
            self._stopping |= text.startswith(STOPPING)
            if text.startswith(LOCKED):
                text = IS_LOCKED
            elif text.startswith(OF_RULES):
                text = _without_places(text)
            if text not in ("", "None") and not text.startswith(NOISE):
                self._screen.say(text)

    def _begin(self, progress: Any) -> None:
        self._progress, self._ran = progress, True
        self._screen.open(progress)

    def _start(self, record: Any) -> None:
        self._messages[record.jobid] = record.rule_msg or record.rule_name
        self._failed.pop(record.jobid, None)  # it is tried again
        if self._progress:
            self._progress.start(record.jobid)

    def _finish(self, job: int) -> None:
        if not self._progress:
            return
        study = self._progress.finish(job)
        self._screen.update()
        if study:
            result = self._progress.results.get(study)
            self._screen.say(f"{study} is done{f': {result}' if result else ''}")
        done, total = self._progress.done, self._progress.total
        if not self._screen.is_interactive and done - self._shown >= SHARE_OF_LINES * total:
            self._shown = done
            self._screen.say(f"{done:,} of {total:,} jobs done, {_left(self._progress)}")

    def _fail(self, record: Any) -> None:
        if self._stopping:  # the job was stopped, and reports that itself
            return
        logs = [str(path) for path in record.log or ()]
        message = self._messages.get(record.jobid, record.rule_name)
        if record.jobid not in self._failed:
            self._screen.say(f"Failed: {message}", *show_logs(logs))
        self._failed[record.jobid] = {"job": message, "log": ", ".join(logs)}

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        return not self.common_settings.dryrun

    @property
    def has_formatter(self) -> bool:
        return False

    @property
    def needs_rulegraph(self) -> bool:
        return False


class _Screen:
    """Standard error: on a terminal, lines above a progress line; else lines only."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
        self._console = Console(file=self._file, soft_wrap=True, highlight=False, emoji=False)
        self.is_interactive = self._console.is_terminal and not self._console.is_dumb_terminal
        self._bar: Bar | None = None
        self._output: _OutputOfJobs | None = None

    def say(self, *lines: str) -> None:
        """Print lines, above the progress line."""
        for line in lines:
            self._console.print(line, markup=False)

    def open(self, progress: Any) -> None:
        """Start the progress line, or print the number of jobs without a terminal."""
        if not self.is_interactive:
            jobs = "job" if progress.total == 1 else "jobs"
            self.say(f"{progress.total:,} {jobs} to do, {_left(progress)}")
            return
        self._progress = progress
        self._output = _OutputOfJobs(self.say)
        self._bar = Bar(
            BarColumn(bar_width=20), MofNCompleteColumn(" of "), TextColumn("jobs done,"),
            _TimeLeft(progress), console=self._console, transient=True, refresh_per_second=2,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=progress.total)
        self._bar.start()

    def update(self) -> None:
        """Show the number of jobs done."""
        if self._bar:
            self._bar.update(self._task, completed=self._progress.done, refresh=True)

    def close(self) -> None:
        """Remove the progress line."""
        output, self._output = self._output, None
        if output:
            output.close()
        if self._bar:
            self._bar.stop()
        self._file.flush()


class _TimeLeft(ProgressColumn):
    """Time until the last job is done."""

    max_refresh = SECONDS_BETWEEN_UPDATES

    def __init__(self, progress: Any) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Any) -> Text:
        """Return the text behind the bar."""
        return Text(_left(self._progress))


class _OutputOfJobs:
    """Pass on the output of jobs line by line, so that none is written into the progress line.

    While it is open, standard output and error of this process, which jobs inherit, are a pipe. So
    jobs find no terminal, and draw no bars of their own.
    """

    def __init__(self, say: Any) -> None:
        sys.stdout.flush()
        self._before = [(number, os.dup(number)) for number in (1, 2)]
        reading, writing = os.pipe()
        for number, _ in self._before:
            os.dup2(writing, number)
        os.close(writing)
        self._reader = threading.Thread(target=self._read, args=(reading, say), daemon=True)
        self._reader.start()

    def _read(self, reading: int, say: Any) -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                say(line.rstrip("\n"))

    def close(self) -> None:
        """Restore standard output and error."""
        sys.stdout.flush()
        for number, before in self._before:
            os.dup2(before, number)
            os.close(before)
        self._reader.join(timeout=5.0)  # a process that a job left behind may hold the pipe


def _without_places(text: str) -> str:
    """Return what an error of the rules says, without its places in their files."""
    lines = text.splitlines()[1:]
    told = [line for line in lines if not re.match(r'  File ".*", line \d+, in ', line)]
    return "\n".join(told) or text


def _left(progress: Any) -> str:
    """Return the time left, to the minute, in words."""
    minutes = round(progress.seconds_left() / 60)
    if minutes < 1:
        return "less than a minute left"
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"about {hours / 24:.0f} days left"
    return f"about {hours} h {minutes} min left" if hours else f"about {minutes} min left"
