"""The command `run`, from a config to its results pages, and `warm`, for another command."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.core import checkout, extras
from shiftbench.core.errors import UserError
from shiftbench.runtime import forkserver_client, graceful_stop

if TYPE_CHECKING:
    from shiftbench.config.schema import Config

SITE = "site"
"""Folder of the results pages, in results/CONFIG."""
SNAKEMAKE = Path(".snakemake")
LOGS = SNAKEMAKE / "log"
MISUSED = (
    'run: "{}" is not expected. Name one config; options and targets of snakemake follow "--", as'
    " in `shiftbench run CONFIG -- --cores 1 STUDY`"
)


def run(options: argparse.Namespace) -> int:
    """Compute the missing results of a config in results/CONFIG, and make their pages.

    Returns 0 for success, 1 if a job failed, 2 if the config is wrong, 128 + the number of the
    signal that stopped it.
    """
    from shiftbench.cli import check, repair
    from shiftbench.config import jobs, result_paths

    if importlib.util.find_spec("snakemake") is None:
        raise extras.missing("run", "snakemake")
    begun = time.monotonic()
    signals = [one for one in graceful_stop.SIGNALS if signal.getsignal(one) != signal.SIG_IGN]
    _exit_on(signals)
    config, notes = check.checked(options.config)
    number = len(config.studies)
    results = result_paths.of_config(options.config.stem)
    studies = f"{number} {'study' if number == 1 else 'studies'}"
    print(f"{options.config}: {studies}; results go to {results}", flush=True)
    for note in notes:
        print(f"Note: {note}", flush=True)
    planned = jobs.of_config(config, results, options.config.stem)
    SNAKEMAKE.mkdir(exist_ok=True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # code of a method that reads it would wait
    # There, for a run that is killed leaves the folder behind.
    with tempfile.TemporaryDirectory(prefix="shiftbench-", dir=SNAKEMAKE) as folder:
        report = Path(folder, "report.json")

        def start(words: list[str]) -> int:
            report.unlink(missing_ok=True)
            status = forkserver_client.run(_command(options.config, report, words))
            if status <= 128:
                _exit_on(signals)  # they were ignored when the command had ended
            return status

        status = repair.run(planned, results, options, start)
        if status > 128 or not report.exists():  # stopped, or a query such as --dry-run
            return status
        failed = json.loads(report.read_text(encoding="utf-8"))["failed"]
    _finish(options.config, config, failed, begun)
    return status


def warm(options: argparse.Namespace) -> int:
    """Run a command with fork servers (see `runtime.forkserver_client`)."""
    command = options.command[options.command[:1] == ["--"] :]
    if not command:
        raise UserError("warm: name a command to run, as in `warm -- snakemake`")
    if not shutil.which(command[0]):
        raise UserError(f"warm: there is no command {command[0]} that can be run; check its name")
    return forkserver_client.run(command)


def _command(config: Path, report: Path, words: list[str]) -> list[str]:
    # -P: modules in the working directory must not shadow those of Snakemake.
    return [
        sys.executable, "-P", "-m", "shiftbench.runtime.snakemake_process",
        "--snakefile", str(checkout.SNAKEFILE),
        "--configfile", str(config), "--logger", "shiftbench",
        "--logger-shiftbench-report", str(report), *words,
    ]  # fmt: skip


def _exit_on(signals: Iterable[int]) -> None:
    """Exit on signals with a shell's exit status, after a line about it and cleaning up."""

    def stop(number: int, _frame: object) -> None:
        graceful_stop.say_stopped(number)
        sys.exit(128 + number)

    for number in signals:
        signal.signal(number, stop)


def _finish(path: Path, config: Config, failed: list[dict[str, Any]], begun: float) -> None:
    """Make the pages; print the failed jobs, the place of the results and the time taken."""
    from shiftbench.config import result_paths, tuning

    if failed:
        print(f"\n{len(failed)} {'job' if len(failed) == 1 else 'jobs'} failed:")
        print(*(f"  {one['job']}; its log: {one['log']}" for one in failed), sep="\n")
        print("Remove the cause and give the same command again; finished jobs do not run again.")
    results = result_paths.of_config(path.stem)
    finished = result_paths.finished(results)
    if any(name in config.studies and not name.endswith(tuning.TRIALS) for name in finished):
        _bring_up_to_date(path, results)
        print(f"Results: {results / SITE / 'index.html'}")
    elif finished:  # of studies that the config had earlier, or of trials
        print(f"No results pages: no study of {path} has results yet")
    print(f"Took {_span(time.monotonic() - begun)}; the whole log is in {LOGS}", flush=True)


def _bring_up_to_date(config: Path, results: Path) -> None:
    """Make the pages, unless they are still those of these results."""
    from shiftbench.publish.site import unchanged

    state = unchanged.made_from(results)
    if unchanged.holds(results / SITE, state):
        return
    print("Making the results pages", flush=True)
    _write_pages(config, results)
    unchanged.record(results / SITE, state)


def _write_pages(config: Path, results: Path) -> None:
    from shiftbench.publish.site import pages

    pages.write(results, results / SITE, [config])


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
