"""Each failure on a cluster has a one-line message with the reason and the log."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shiftbench.runtime.cluster import failures


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch):
    monkeypatch.setattr(failures, "_final", [])


def submitted(tmp_path, attempt=1, log="", of_slurm=""):
    logs = {"job.log": log, "slurm.log": of_slurm}
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    job = SimpleNamespace(
        name="run_method", output=["runs/a.zarr.zip"], log=[tmp_path / "job.log"],
        attempt=attempt, restart_times=3,
    )  # fmt: skip
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
