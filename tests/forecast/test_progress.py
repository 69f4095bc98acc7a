"""Finished jobs and studies, and the time left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shiftbench.config import config_file, jobs
from shiftbench.config.job import Job
from shiftbench.config.schema import Resources
from shiftbench.forecast import progress
from shiftbench.forecast.progress import Expected, Progress

JOBS = {
    0: Expected("", 10.0, 1),
    1: Expected("toy", 100.0, 1),
    2: Expected("toy", 100.0, 1),
    3: Expected("nile", 50.0, 2),
}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def running(clock: Clock) -> Progress:
    return Progress(JOBS, 2, {"toy": "toy.png"}, clock)


def test_before_anything_ran_the_time_left_is_the_forecast(running) -> None:
    assert running.seconds_left() == pytest.approx(160.0)  # 100 beside 100, 50 on both, 10


@pytest.mark.parametrize(("factor", "low", "high"), [(1.0, 50, 70), (3.0, 140, 180)])
def test_a_run_that_takes_longer_than_forecast_has_more_time_left(
    running, clock, factor, low, high
) -> None:
    for job in (1, 2):
        running.start(job)
    clock.now += 100.0 * factor
    for job in (1, 2):
        running.finish(job)
    assert low < running.seconds_left() < high


def test_time_left_falls_while_a_long_job_runs(running, clock) -> None:
    running.start(1)
    running.start(2)
    before = running.seconds_left()
    clock.now += 60.0
    assert running.seconds_left() == pytest.approx(before - 60.0, rel=0.1)


def test_a_study_is_done_with_its_last_job(running) -> None:
    assert [running.finish(job) for job in (0, 1, 3, 2)] == [None, None, "nile", "toy"]
    assert (running.done, running.total, running.seconds_left()) == (4, 4, 0.0)
    assert running.finish(99) is None and running.done == 4, "a target is no job of ours"


def test_trials_count_with_their_study_and_others_with_their_own() -> None:
    def job(rule: str, study: str) -> Job:
        return Job(
            rule=rule, name=rule, study=study, outputs=(rule,), resources=Resources(2, 30, 500),
            make_spec=lambda: {"wall": 9.0},
        )  # fmt: skip

    known = SimpleNamespace(of=lambda spec: SimpleNamespace(wall=spec["wall"]))
    jobs = {
        2: job("build_stream", ""),
        3: job("run_method", "toy-tuning"),
        4: job("draw_figure", "toy"),
        5: job("draw_figure", "fine-tuning"),
    }
    assert progress.of_jobs(jobs, {"toy", "toy-tuning", "fine-tuning"}, known) == {
        2: Expected("", 2.0, 2),
        3: Expected("toy", 9.0, 2),
        4: Expected("toy", 2.0, 2),
        5: Expected("fine-tuning", 2.0, 2),
    }


def test_the_first_result_is_a_figure_or_else_a_table(tmp_path) -> None:
    first = {"toy": "[score-table, toy-hypotheses, detection-table]", "table": "[score-table]"}
    studies = [
        f"  {name}: {{title: A, streams: [s], seeds: 1, metrics: [jump_f1], methods: [vbs-toy],"
        f" artefacts: {artefacts}}}\n"
        for name, artefacts in {**first, "none": "[]"}.items()
    ]
    path = tmp_path / "a.yaml"
    path.write_text("streams: {s: {family: toy-step}}\nstudies:\n" + "".join(studies))
    config = config_file.load(path)
    assert progress.first_results(jobs.of_config(config, "results/a", "a")) == {
        "toy": "results/a/studies/toy/figures/toy-hypotheses.png",
        "table": "results/a/studies/table/tables/score-table.md",
    }
