"""Runs the workflow after a check of earlier results: damaged files are made again first.

Damaged or removed files are made first, in runs of Snakemake that make nothing else. They get
their old bytes, so that the next run finds the files made from them intact. A single run would
delete those files and compute them again. For the same reason a lost file has to wait for a later
run of Snakemake if intact files lie between it and another lost file, as the results of methods do
between a stream and a summary.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from shiftbench.config.job import Job
from shiftbench.forecast import lost_files

MOST = 2000
"""The most targets of one command, because the length of commands is limited."""


class _Word(str):
    """A word with an identity of its own: the value of an option may equal a target."""


def run(
    planned: list[Job],
    results: Path,
    options: argparse.Namespace,
    start: Callable[[list[str]], int],
) -> int:
    """Make damaged files again, then all that is missing; return the exit status.

    If the first fails, nothing else is made, and the status is of that run. planned: the jobs of
    the config. options: `snakemake`, words for it; `deep`. start: starts Snakemake with some words.
    """
    lost = lost_files.settle(planned, results, options.deep)
    if lost.without_checksum:
        print(
            "Intact files whose checksum was missing or wrong, and is written again:"
            f" {len(lost.without_checksum):,}",
            flush=True,
        )
    if lost.all:
        print(lost.words("this run computes {it} again"), flush=True)
        words = ["--force", *_without_targets(options.snakemake)]
        for targets in _stages(planned, set(lost.all)):
            first, status = iter(targets), 0
            while not status and (some := list(islice(first, MOST))):
                status = start([*some, *words])
            lost_files.restore_times(lost.all, results, lost.entries)
            if status:
                return status
    status = start(options.snakemake)
    if status > 128:
        return status
    left = lost_files.settle(planned, results)
    if left.damaged:
        print(left.words("start again to compute {it} again"), flush=True)
        return status or 1
    return status


def _stages(planned: list[Job], lost: set[str]) -> list[list[str]]:
    """Return one lost output of each job that lost any, in the order and runs to make them."""
    stages: dict[int, list[str]] = {}
    earliest: dict[str, int] = {}
    """The first run in which a file has its bytes and its time, or is made."""
    remade: set[str] = set()
    for job in planned:  # each after those that it needs
        gone = [file for file in job.outputs if file in lost]
        read = [file for file in job.inputs if file in earliest]
        number = max((earliest[file] + (not gone and file in remade) for file in read), default=0)
        earliest |= dict.fromkeys(job.outputs, number)
        if gone:
            remade |= {*job.outputs}
            stages.setdefault(number, []).append(gone[0])
    return [stages[number] for number in sorted(stages)]


def _without_targets(words: list[str]) -> list[str]:
    """Return the arguments of Snakemake without its targets (studies or files)."""
    if not words:
        return []
    from snakemake.cli import get_argument_parser

    before = words[: words.index("--")] if "--" in words else words  # after it are only targets
    own = [_Word(word) for word in before]
    targets = {id(word) for word in get_argument_parser().parse_known_args(own)[0].targets}
    return [word for word, each in zip(before, own, strict=True) if id(each) not in targets]
