"""The command line: python -m shiftbench VERB ...; for people, and for the rules.

A job of a rule imports none of the other verbs (`parser`).
"""

from __future__ import annotations

import argparse
import gc
import sys

from shiftbench.cli import jobs, logs
from shiftbench.core import checkout, exit_statuses, extras, file_errors
from shiftbench.core.errors import UserError


def main(arguments: list[str]) -> int:
    """Run one verb; return its exit status, see `core.exit_statuses`."""
    # With the default of 700, garbage collection takes a third of the time of loading a
    # config, and a tenth of that of tracing.
    gc.set_threshold(100_000, 10, 10)
    logs.replace_what_cannot_be_shown()
    try:
        options = _parsed(arguments)
    except UserError as error:
        logs.open_log(None)
        logs.report(str(error))
        return exit_statuses.MISTAKE
    try:
        logs.open_log(options.log)
        status = options.verb(options) or 0
        sys.stdout.flush()
        return status
    except UserError as error:
        logs.report(str(error))
        return exit_statuses.MISTAKE
    except BrokenPipeError:  # the reader of our output has seen enough
        logs.drop_output()
        return 0
    except Exception as error:
        if of_file := file_errors.root_cause(error):
            logs.report_file_error(of_file, options)
            return exit_statuses.MISTAKE
        if remedy := _remedy(error):
            logs.report(remedy)
            return exit_statuses.MISTAKE
        logs.report_unexpected(error, options.log)
        return exit_statuses.DEFECT


def _parsed(arguments: list[str]) -> argparse.Namespace:
    """Return the options of a verb; UserError for an unknown verb or extra arguments of `run`."""
    if arguments[:1] == [jobs.VERB]:
        return jobs.parser().parse_args(arguments[1:])
    from shiftbench.cli import parser

    return parser.parsed(arguments)


def _remedy(error: Exception) -> str | None:
    """Return what to do about a missing package of the lock: after a pull, or without an extra."""
    from shiftbench.config import environment  # of no use to verbs that start quickly

    if not isinstance(error, ModuleNotFoundError) or not environment.locked(error.name or ""):
        return None
    if checkout.INSTALLED:
        return str(extras.missing("this command", (error.name or "").partition(".")[0]))
    return f"{error}, but {checkout.LOCK} has it: bring .venv up to date with `make setup`"
