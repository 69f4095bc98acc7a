"""Snakemake with a Slurm executor that survives restarts of Slurm's daemons and of itself.

The plugin's executor forgets all jobs when Slurm does not answer queries, as while slurmctld
restarts, and does not know jobs that an earlier Snakemake left in the queue. Each of its jobs
starts two more Snakemakes, which cost more than a small run; ours runs the commands themselves.
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
from shiftbench.runtime.cluster import failures, limits, retries, script

WAIT_SECONDS = 5.0
LOOK_SECONDS = 30.0
"""Longest time between two polls of the jobs, in seconds; the plugin's own grows up to 180 s."""
MISSED = 3
"""A job counts as finished after it is missing from this many successive answers of Slurm."""


class Executor(plugin.Executor):
    """The plugin's executor, which also takes over jobs that are in the queue."""

    next_seconds_between_status_checks: float
    name = ""
    """The name in Slurm of all jobs of a config, whichever main process has submitted them."""

    def __post_init__(self, test_mode: bool = False) -> None:
        super().__post_init__(test_mode)
        self.run_uuid = self.name
        self._missed: dict[str, int] = {}

    def run_job(self, job: JobExecutorInterface) -> None:
        """Take over a job that is in the queue, or submit it, as soon as Slurm answers."""
        try:
            if number := self._queued.pop(_key(job), None):
                self.logger.info(f"Job {job.jobid} is in the queue already, as {number}.")
                log = {"slurm_logfile": Path(slurm.log(number) or os.devnull)}
                self._report_job_submission_threadsafe(SubmittedJobInfo(job, number, log))
                return
            self._wait_for_slurm()
            _refuse_beyond(job)
            if self._sees_all_files:
                self.workflow.async_run(script.prepare(job))
        except Exception as error:  # errors of this thread would be lost
            if isinstance(error, UserError):
                retries.end(job)
            self._report_job_error_threadsafe(SubmittedJobInfo(job), str(error))
            return
        super().run_job(job)

    def _wait_for_slurm(self) -> None:
        """Return once Slurm's controller answers, and warn once while it does not."""
        silent = False
        while "UP" not in (slurm.ask("scontrol", "ping") or ""):
            if not silent:
                self.logger.warning(
                    "Slurm's controller does not answer; jobs are submitted once it does. Ask"
                    " `scontrol ping`, or interrupt and start again later."
                )
            silent = True
            time.sleep(WAIT_SECONDS)

    def format_job_exec(self, job: JobExecutorInterface) -> str:
        """Return the commands of a job; the plugin's if a node lacks our files or environment."""
        return script.text(job) if self._sees_all_files else super().format_job_exec(job)

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Yield the jobs that are not over; all of them if Slurm does not answer."""
        if not active_jobs:  # the polling thread starts before __post_init__
            return
        answers = self._status_query_calls
        active = [job async for job in super().check_active_jobs(active_jobs)]
        if self._status_query_calls == answers:
            active = active_jobs
        self.next_seconds_between_status_checks = min(
            self.next_seconds_between_status_checks, LOOK_SECONDS
        )
        queue = slurm.queue(self.name, "all")
        for job_info in active:
            number = str(job_info.external_jobid)
            missing = queue is not None and number not in queue
            self._missed[number] = self._missed.get(number, 0) + 1 if missing else 0
            if self._missed[number] < MISSED:
                yield job_info
            elif all(Path(path).exists() for path in job_info.job.output):
                self.report_job_success(job_info)
            else:
                self.report_job_error(job_info, msg="SLURM status is: 'FORGOTTEN'")

    def print_job_error(
        self, job_info: SubmittedJobInfo, msg: str | None = None, **more: Any
    ) -> None:
        """Print a single line; Snakemake's message has a hundred. Retry only what may succeed."""
        number = str(job_info.external_jobid or "")
        # The status of Snakemake's own scripts is always 1.
        status = slurm.exit_status(number) if number and self._sees_all_files else None
        self.logger.info(failures.note(job_info, msg or "", status))

    @property
    def _sees_all_files(self) -> bool:
        """Return whether nodes have our files and our environment."""
        return (
            not self.workflow.deployment_settings.deployment_method
            and SharedFSUsage.INPUT_OUTPUT in self.workflow.storage_settings.shared_fs_usage
        )

    @cached_property
    def _queued(self) -> dict[str, str]:
        """The number of each job that was in the queue at the start, by its key."""
        while (queue := slurm.queue(self.name)) is None:
            time.sleep(WAIT_SECONDS)
        return {key: number for number, key in queue.items()}


def _refuse_beyond(job: JobExecutorInterface) -> None:
    """Raise UserError for a job that no node can run, which would wait forever."""
    resources, partition = job.resources, job.resources.get("slurm_partition")
    requested = {"minutes": resources.get("runtime"), "memory_mb": resources.get("mem_mb")}
    requested = {key: value for key, value in requested.items() if isinstance(value, int)}
    requested["threads"] = job.threads
    if more := limits.excess(requested, limits.available(partition)):
        where = f"partition {partition}" if partition else "the default partition"
        raise UserError(
            f"{where} cannot run the job: {'; '.join(more)}; see slurm_partition and set-resources"
            " in the profile"
        )


_submit_command = plugin.get_submit_command


def _submit(job: JobExecutorInterface, params: dict, *rest: Any, **more: Any) -> str:
    """Return the plugin's command, with the job's key at the end of its comment."""
    comment = shlex.quote(f"{params['comment_str']} {_key(job)}")
    # Of several --comment Slurm takes the last.
    return f"{_submit_command(job, params, *rest, **more)} --comment={comment}"


def _key(job: JobExecutorInterface) -> str:
    """Return a digest of the commands that a job runs, which hold the digests of their specs."""
    return hashlib.sha256("\n".join(sorted(script.commands(job))).encode()).hexdigest()


if __name__ == "__main__":
    Executor.name = sys.argv[1]
    plugin.Executor, plugin.get_submit_command = Executor, _submit
    # A second time, since the import of Snakemake has registered the plugin's executor.
    ExecutorPluginRegistry().register_plugin(plugin.__name__, plugin)
    try:
        main(sys.argv[2:])
    finally:
        failures.print_summary()
