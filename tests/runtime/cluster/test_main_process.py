"""The executor with and without answers from Slurm."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

plugin = pytest.importorskip("snakemake_executor_plugin_slurm")

from shiftbench.core.errors import UserError  # noqa: E402
from shiftbench.runtime import slurm  # noqa: E402
from shiftbench.runtime.cluster import main_process  # noqa: E402


class Made(main_process.Executor):
    """An executor without a workflow. ended: its reports on jobs."""

    next_seconds_between_status_checks = 180.0  # type: ignore[assignment]

    def __init__(self):
        self._status_query_calls, self._missed, self.ended = 0, {}, []

    def report_job_success(self, job_info):
        self.ended.append("success")

    def report_job_error(self, job_info, msg=None, **more):
        self.ended.append(msg)


@pytest.fixture
def ask(monkeypatch):
    """Return a function that asks for job states.

    answers: whether Slurm responds. queue: the jobs known to Slurm.
    """

    def ask(executor, jobs, queue, answers=True):
        async def of_plugin(self, active_jobs):
            if answers:
                self._status_query_calls += 1
                for job in active_jobs:
                    yield job

        async def living():
            return [job async for job in executor.check_active_jobs(jobs)]

        monkeypatch.setattr(plugin.Executor, "check_active_jobs", of_plugin)
        monkeypatch.setattr(slurm, "queue", lambda *_: queue)
        return asyncio.run(living())

    return ask


def job(output):
    return SimpleNamespace(external_jobid="7", job=SimpleNamespace(output=[str(output)]))


def test_before_it_is_made_it_has_no_jobs(ask):
    unmade = main_process.Executor.__new__(main_process.Executor)
    assert ask(unmade, [], {}) == []


def test_without_an_answer_all_jobs_go_on(ask, tmp_path):
    executor, jobs = Made(), [job(tmp_path / "run")]
    for _ in range(2 * main_process.MISSED):
        assert ask(executor, jobs, None, answers=False) == jobs
    assert executor.ended == []


def test_a_job_that_slurm_knows_goes_on_and_is_looked_at_soon(ask, tmp_path):
    executor, jobs = Made(), [job(tmp_path / "run")]
    for _ in range(2 * main_process.MISSED):
        assert ask(executor, jobs, {"7": "key"}) == jobs
    assert executor.next_seconds_between_status_checks == main_process.LOOK_SECONDS


@pytest.mark.parametrize("exists", [True, False])
def test_a_job_that_slurm_has_forgotten_is_over(ask, tmp_path, exists):
    executor, jobs = Made(), [job(tmp_path / "run")]
    if exists:
        (tmp_path / "run").touch()
    for _ in range(main_process.MISSED - 1):
        assert ask(executor, jobs, {}) == jobs
    assert ask(executor, jobs, {}) == []
    assert executor.ended == ["success" if exists else "SLURM status is: 'FORGOTTEN'"]


def test_a_controller_that_does_not_answer_is_waited_for_with_one_warning(monkeypatch):
    answers, waits, executor = [None, "DOWN", "Slurmctld(primary) is UP"], [], Made()
    executor.logger = Mock()
    monkeypatch.setattr(slurm, "ask", lambda *_: answers.pop(0))
    monkeypatch.setattr(main_process.time, "sleep", waits.append)
    executor._wait_for_slurm()
    assert (answers, waits) == ([], [main_process.WAIT_SECONDS] * 2)
    ((said,), _) = executor.logger.warning.call_args
    assert "does not answer" in said and executor.logger.warning.call_count == 1


def test_a_job_beyond_its_partition_is_refused(monkeypatch):
    sinfo = "debug*|infinite|4|16000\nshort|2:00|4|16000\n"
    monkeypatch.setattr(slurm, "ask", lambda *_: sinfo)
    asks = {"runtime": 30, "mem_mb": 1000}
    main_process._refuse_beyond(SimpleNamespace(resources=asks, threads=4))
    with pytest.raises(UserError, match=r"partition short.* minutes 30, at most 2; see"):
        job = SimpleNamespace(resources=asks | {"slurm_partition": "short"}, threads=1)
        main_process._refuse_beyond(job)


def test_a_failure_is_judged_by_its_exit_status(monkeypatch):
    noted, executor = [], Made()
    executor.logger = Mock()
    monkeypatch.setattr(slurm, "exit_status", lambda number: 2)
    monkeypatch.setattr(main_process.failures, "note", lambda *given: noted.append(given))
    for sees, number in ((True, "7"), (True, None), (False, "7")):
        monkeypatch.setattr(Made, "_sees_all_files", sees)
        executor.print_job_error(SimpleNamespace(external_jobid=number), "failed")
    assert [status for _, _, status in noted] == [2, None, None]
