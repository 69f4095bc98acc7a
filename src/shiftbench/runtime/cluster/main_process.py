"""Snakemake with an executor for Slurm that outlives Slurm's daemons, and its own death.

The plugin's executor forgets all jobs when no query of their states is answered, as while
slurmctld restarts, and knows nothing of jobs that an earlier Snakemake left in the queue. Each of
its jobs starts two more Snakemakes, which cost more than a small run; ours runs the commands.
Start it as `python -m shiftbench.runtime.cluster.main_process NAME ...`, with the name of its jobs
in Slurm, and Snakemake's arguments.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import time
from collections.abc import AsyncGenerator
from functools import cached_property
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_executor_plugins.settings import SharedFSUsage

from shiftbench.core.errors import UserError
from shiftbench.runtime import slurm
from shiftbench.runtime.cluster import failures, limits, script

WAIT_SECONDS = 5.0
LOOK_SECONDS = 30.0
"""At most so long is not looked at the jobs; the plugin waits longer each time, up to 180 s."""
MISSED = 3
"""A job is over that so many answers of Slurm in a row do not know."""


class Executor(plugin.Executor):
    """The plugin's, and it takes over what is in the queue."""

    name = ""
    """Of all jobs of a config in Slurm, whichever main process has submitted them."""

    def __post_init__(self, test_mode: bool = False) -> None:
        super().__post_init__(test_mode)
        self.run_uuid = self.name
        self._missed: dict[str, int] = {}

    def run_job(self, job: JobExecutorInterface) -> None:
        """Takes over a job that is in the queue, or submits it, as soon as Slurm answers."""
        try:
            if number := self._queued.pop(_key(job), None):
                self.logger.info(f"Job {job.jobid} is in the queue already, as {number}.")
                log = {"slurm_logfile": Path(slurm.log(number) or os.devnull)}
                self._report_job_submission_threadsafe(SubmittedJobInfo(job, number, log))
                return
            while "UP" not in (slurm.ask("scontrol", "ping") or ""):
                time.sleep(WAIT_SECONDS)
            _refuse_beyond(job)
            if self._sees_all_files:
                self.workflow.async_run(script.prepare(job))
        except Exception as error:  # nobody looks at what this thread raises
            self._report_job_error_threadsafe(SubmittedJobInfo(job), str(error))
            return
        super().run_job(job)

    def format_job_exec(self, job: JobExecutorInterface) -> str:
        """The commands of a job; Snakemake, where it has to bring files or an environment."""
        return script.text(job) if self._sees_all_files else super().format_job_exec(job)

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Yields the jobs that are not over; all of them, where Slurm does not answer."""
        if not active_jobs:  # the thread that asks is started before __post_init__
            return
        answers = self._status_query_calls
        living = [job async for job in super().check_active_jobs(active_jobs)]
        if self._status_query_calls == answers:
            living = active_jobs
        self.next_seconds_between_status_checks = min(
            self.next_seconds_between_status_checks, LOOK_SECONDS
        )
        known = slurm.queue(self.name, "all")
        for one in living:
            number = str(one.external_jobid)
            missing = known is not None and number not in known
            self._missed[number] = self._missed.get(number, 0) + 1 if missing else 0
            if self._missed[number] < MISSED:
                yield one
            elif all(Path(path).exists() for path in one.job.output):
                self.report_job_success(one)
            else:
                self.report_job_error(one, msg="SLURM status is: 'FORGOTTEN'")

    def print_job_error(
        self, job_info: SubmittedJobInfo, msg: str | None = None, **more: Any
    ) -> None:
        """One line; Snakemake's are a hundred."""
        self.logger.info(failures.note(job_info, msg or ""))

    @property
    def _sees_all_files(self) -> bool:
        """Whether nodes have our files and our environment."""
        return (
            not self.workflow.deployment_settings.deployment_method
            and SharedFSUsage.INPUT_OUTPUT in self.workflow.storage_settings.shared_fs_usage
        )

    @cached_property
    def _queued(self) -> dict[str, str]:
        """The number of each job in the queue when we began, by its key."""
        while (found := slurm.queue(self.name)) is None:
            time.sleep(WAIT_SECONDS)
        return {key: number for number, key in found.items()}


def _refuse_beyond(job: JobExecutorInterface) -> None:
    """UserError for a job that would wait for ever, be it a stream's, a study's or a group's."""
    asks, partition = job.resources, job.resources.get("slurm_partition")
    asked = {"minutes": asks.get("runtime"), "memory_mb": asks.get("mem_mb")}
    asked = {key: value for key, value in asked.items() if isinstance(value, int)}
    if more := limits.excess({**asked, "threads": job.threads}, limits.given(partition)):
        where = f"partition {partition}" if partition else "the default partition"
        raise UserError(
            f"{where} takes no such job: {'; '.join(more)}; see slurm_partition and set-resources"
            " in the profile"
        )


_submit_command = plugin.get_submit_command


def _submit(job: JobExecutorInterface, params: dict, *rest: Any, **more: Any) -> str:
    """The plugin's command, and the job's key at the end of its comment."""
    comment = shlex.quote(f"{params['comment_str']} {_key(job)}")
    return f"{_submit_command(job, params, *rest, **more)} --comment={comment}"  # the last holds


def _key(job: JobExecutorInterface) -> str:
    """A digest of the commands that a job runs, with the digests of their specs."""
    return hashlib.sha256("\n".join(sorted(script.commands(job))).encode()).hexdigest()


if __name__ == "__main__":
    Executor.name = sys.argv[1]
    plugin.Executor, plugin.get_submit_command = Executor, _submit
    # Again, since the import of Snakemake has registered the plugin's own.
    ExecutorPluginRegistry().register_plugin(plugin.__name__, plugin)
    try:
        main(sys.argv[2:])
    finally:
        failures.tell()
