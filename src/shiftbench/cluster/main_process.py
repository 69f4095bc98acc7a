"""Snakemake with an executor for Slurm that outlives Slurm's daemons, and its own death.

The plugin's executor forgets all jobs when no query of their states is answered, as while
slurmctld restarts, and knows nothing of jobs that an earlier Snakemake left in the queue.
Start it as `python -m shiftbench.cluster.main_process`, with Snakemake's arguments.
"""

from __future__ import annotations

import hashlib
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

from shiftbench import slurm

SUBMITTED = Path(".snakemake/slurm_submitted")
"""A file a job, named by what it runs, that holds its number in Slurm and the place of its log."""
WAIT_SECONDS = 5.0


class Executor(plugin.Executor):
    """The plugin's, and it takes over what is in the queue."""

    def run_job(self, job: JobExecutorInterface) -> None:
        """Takes over a job that is in the queue, or submits it, as soon as Slurm answers."""
        place = SUBMITTED / _key(job)
        number, _, log = place.read_text().partition("\n") if place.is_file() else ("", "", "")
        place.unlink(missing_ok=True)
        if number in self._queued:
            while (
                slurm.ask("scontrol", "update", f"JobId={number}", f"JobName={self.run_uuid}")
                is None
            ):
                if slurm.state(number) not in (None, *slurm.QUEUED):
                    break  # it has ended just now
                time.sleep(WAIT_SECONDS)
            else:
                self.logger.info(f"Job {job.jobid} is in the queue already, as {number}.")
                aux = {"slurm_logfile": Path(log)}
                self._report_job_submission_threadsafe(SubmittedJobInfo(job, number, aux))
                return
        while "UP" not in (slurm.ask("scontrol", "ping") or ""):
            time.sleep(WAIT_SECONDS)
        super().run_job(job)

    def _report_job_submission_threadsafe(self, job_info: SubmittedJobInfo) -> None:
        SUBMITTED.mkdir(parents=True, exist_ok=True)
        log = (job_info.aux or {}).get("slurm_logfile", "")
        (SUBMITTED / _key(job_info.job)).write_text(f"{job_info.external_jobid}\n{log}")
        super()._report_job_submission_threadsafe(job_info)

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Yields the jobs that are not over; all of them, where Slurm does not answer."""
        answers = self._status_query_calls
        async for job in super().check_active_jobs(active_jobs):
            yield job
        if self._status_query_calls == answers:
            for job in active_jobs:
                yield job

    @cached_property
    def _queued(self) -> set[str]:
        """The numbers of the user's jobs that are not over."""
        while (answer := slurm.ask("squeue", "--noheader", "--me", "--format=%i")) is None:
            time.sleep(WAIT_SECONDS)
        return set(answer.split())


def _key(job: Any) -> str:
    """A digest of the commands that a job runs, with the digests of their specs."""
    commands = sorted(one.shellcmd or one.name for one in (job.jobs if job.is_group() else [job]))
    return hashlib.sha256("\n".join(commands).encode()).hexdigest()


if __name__ == "__main__":
    plugin.Executor = Executor
    # Again, since the import of Snakemake has registered the plugin's own.
    ExecutorPluginRegistry().register_plugin(plugin.__name__, plugin)
    main(sys.argv[1:])
