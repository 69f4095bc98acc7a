"""A method that ends the process of its job, or leaves its folder, is reported with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shiftbench.cli import main, method_bounds
from shiftbench.config import components
from shiftbench.core import exit_statuses
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Learner
from tests import job_calls

CONFIG = """\
streams: {steps: {family: toy-step, points: 8}}
studies:
  toy:
    title: Two steps
    streams: [steps]
    seeds: 2
    metrics: [log_predictive]
    artefacts: [score-table]
    methods: {mine: [gaussian-mean]}
"""


def run(folder: Path, monkeypatch, act) -> tuple[int, str]:
    """Run the jobs of a learner that acts when it observes; return the last status and the log."""
    monkeypatch.chdir(folder)
    Path("small.yaml").write_text(CONFIG)
    module = components.load("learners", "gaussian-mean")
    build = module.build

    def acting(*given) -> Learner:
        learner = build(*given)

        def observe(*data):
            act()
            return learner.observe(*data)

        return replace(learner, observe=observe)

    monkeypatch.setattr(module, "build", acting)
    log = Path("run.log").absolute()
    jobs = job_calls.planned(Path("small.yaml"), "results")
    for rule in ("build_stream", "run_method"):
        (job,) = (job for job in jobs.values() if job.rule == rule)
        given = [*job_calls.arguments(job, Path("specs")), "--log", str(log), "--scratch", "s"]
        status = main.main(given)
    return status, log.read_text()


def leave() -> None:
    sys.exit(0)


def test_a_method_that_exits_is_told_with_status_and_line(tmp_path, monkeypatch) -> None:
    status, log = run(tmp_path, monkeypatch, leave)
    line = leave.__code__.co_firstlineno + 1
    assert status == exit_statuses.MISTAKE
    assert (
        "the code of the method has ended the process with SystemExit and the exit status 0"
        f" ({__file__}, line {line}); let it raise a LearnerError where it cannot go on\n" in log
    )


def test_a_method_that_changes_the_folder_is_told_so(tmp_path, monkeypatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    status, log = run(tmp_path, monkeypatch, lambda: os.chdir(elsewhere))
    assert status == exit_statuses.MISTAKE
    assert f"has changed the working folder from {tmp_path} to {elsewhere}, but the paths" in log
    assert Path.cwd() == tmp_path
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(("status", "expected"), [(0, exit_statuses.MISTAKE), (3, 3)])
def test_a_method_that_ends_python_is_told_with_status_and_line(tmp_path, status, expected) -> None:
    """The status 0 would mean that there are results. A process of the method's own may end."""
    code = f"""
import os, pathlib, sys
from shiftbench.cli import logs, method_bounds
logs.open_log(pathlib.Path(sys.argv[1]))
with method_bounds.kept():
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    os._exit({status})
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.log")])
    assert done.returncode == expected
    (line,) = (tmp_path / "run.log").read_text().splitlines()
    assert f"with os._exit and the exit status {status} (<string>, line 9); let it" in line


def test_the_builtin_exit_is_not_the_place_and_nothing_stays_changed() -> None:
    before = os._exit
    with pytest.raises(UserError, match="the exit status 4 ") as error, method_bounds.kept():
        exit(4)
    assert __file__ in str(error.value)
    assert os._exit is before
