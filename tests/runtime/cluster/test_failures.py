"""Each failure on a cluster has a one-line message with the reason and the log."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shiftbench.runtime.cluster import failures


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch):
    monkeypatch.setattr(failures, "_final", [])


class Job:
    """A job as Snakemake has it, with the memory that each attempt requests."""

    name, output, restart_times = "run_method", ["runs/a.zarr.zip"], 3

    def __init__(self, memory, attempt):
        self.memory, self._attempt = memory, attempt

    @property
    def attempt(self):
        return self._attempt

    @attempt.setter
    def attempt(self, attempt):
        self._attempt = attempt

    @property
    def resources(self):
        return {"mem_mb": self.memory[self._attempt - 1]}


def submitted(tmp_path, attempt=1, log="", of_slurm=""):
    logs = {"job.log": log, "slurm.log": of_slurm}
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    job = Job([2500, 2500, 5000, 7500], attempt)
    job.log = [tmp_path / "job.log"]
    return SimpleNamespace(job=job, aux={"slurm_logfile": tmp_path / "slurm.log"})


FAILED = "SLURM-job '7' failed, SLURM status is: 'FAILED'. Detailed failure reason unavailable"


def test_a_failure_is_one_line_with_the_last_line_of_the_log(tmp_path):
    message = failures.note(
        submitted(
            tmp_path, log="2026-01-01 10:00:00 task 1\n2026-01-01 10:00:01 no data; details in x\n"
        ),
        FAILED,
    )
    log = tmp_path / "job.log"
    assert message == f"runs/a.zarr.zip: FAILED, no data; log: {log}; it is tried again"


def test_where_the_job_says_nothing_slurms_log_does(tmp_path):
    message = failures.note(submitted(tmp_path, of_slurm="sh: python: not found\n"), FAILED)
    assert f"FAILED, sh: python: not found; log: {tmp_path / 'slurm.log'}" in message


def test_what_slurm_does_not_name_is_told_as_it_is(tmp_path):
    assert "sbatch failed: no such partition" in failures.note(
        submitted(tmp_path), "sbatch failed: no such partition"
    )


def test_the_summary_has_only_jobs_that_failed_for_the_last_time(tmp_path, capsys):
    failures.print_summary()
    assert capsys.readouterr().err == ""
    failures.note(submitted(tmp_path, attempt=3), FAILED)
    last = failures.note(submitted(tmp_path, attempt=4, log="no data\n"), FAILED)
    failures.print_summary()
    assert capsys.readouterr().err == f"1 job failed:\n  {last}\n"
    assert "tried again" not in last


OUT_OF_MEMORY = FAILED.replace("'FAILED'", "'OUT_OF_MEMORY'")
POLLED = "slurmstepd-n1: error: StepId=7.batch exceeded memory limit (3 > 2), being killed\n"


@pytest.mark.parametrize(
    ("message", "status", "of_slurm", "words"),
    [
        (OUT_OF_MEMORY, 125, "", "out of memory"),
        (FAILED, 137, POLLED, "out of memory"),
        (FAILED, 137, "Killed\n", "killed, most likely out of memory"),
    ],
)
def test_out_of_memory_is_said_and_tried_again_with_more(
    tmp_path, message, status, of_slurm, words
):
    one = submitted(tmp_path, log="task 1 of 9\n", of_slurm=of_slurm)
    said = failures.note(one, message, status)
    assert said.startswith(f"runs/a.zarr.zip: {words}: raise memory_mb of the study; log: ")
    assert said.endswith("; it is tried again, with more memory")
    one.job.attempt += 1  # by Snakemake
    assert one.job.resources == {"mem_mb": 5000}, "the second attempt had no more than the first"


def test_out_of_memory_is_not_tried_again_where_no_attempt_has_more(tmp_path):
    one = submitted(tmp_path)
    one.job.memory = [2500] * 4
    one.job.name = "build_stream"
    said = failures.note(one, OUT_OF_MEMORY)
    assert said == (
        "runs/a.zarr.zip: out of memory: raise mem_mb of build_stream, in set-resources of the"
        " profile"
    )
    assert one.job.attempt > one.job.restart_times


@pytest.mark.parametrize("status", [1, 2])
def test_an_error_is_not_tried_again(tmp_path, status):
    one = submitted(tmp_path, log="unexpected error: ValueError: no\n")
    assert "tried again" not in failures.note(one, FAILED, status)
    assert one.job.attempt > one.job.restart_times


@pytest.mark.parametrize(
    ("word", "status"),
    [("FAILED", 75), ("FAILED", 143), ("FAILED", None), ("TIMEOUT", 0), ("CANCELLED", 1)],
)
def test_what_was_stopped_is_tried_again(tmp_path, word, status):
    one = submitted(tmp_path)
    said = failures.note(one, FAILED.replace("'FAILED'", f"'{word}'"), status)
    assert said == f"runs/a.zarr.zip: {word}; it is tried again"
    assert one.job.attempt == 1
