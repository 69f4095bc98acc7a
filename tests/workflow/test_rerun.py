"""Which jobs run again after a change, by Snakemake on a copy of the repository.

Jobs of the copy only make their files; plans depend on specs, which are the real ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow import copies
from tests.workflow.conftest import CODE, COMMENT

TOY_AFTER_RUNS = {
    "Summarising toy-study",
    "Writing table score-table of toy-study",
    "Study toy-study is done",
    "All studies are done",
}
IMAGES_AFTER_RUNS = {
    "Summarising image-study",
    "Writing table score-table of image-study",
    "Drawing relative-accuracy of image-study",
    "Study image-study is done",
    "All studies are done",
}


def _plan(folder: Path, *targets: str) -> set[str]:
    """Return the messages of the jobs that would run for the targets, by default for all."""
    targets = targets or ("all", "toy-study", "image-study")
    done = copies.snakemake(folder, "--dry-run", *targets)
    assert done.returncode == 0, done.stdout
    jobs = copies.jobs(done.stdout)
    assert jobs or "Nothing to be done" in done.stdout
    return set(jobs)


def _nameless(plan: set[str]) -> set[str]:
    """Return the messages without the digests in the names of warm-ups."""
    return {re.sub("-[0-9a-f]{8} on ", " on ", job) for job in plan}


def test_studies_are_run_in_the_order_of_the_config(finished: Path) -> None:
    *jobs, last = copies.jobs((finished / "said").read_text())
    assert last == "All studies are done"
    of_toys = ["toy-study" in job or job == "Building stream steps" for job in jobs]
    assert of_toys == [True] * 7 + [False] * 9


@pytest.mark.long
def test_words_and_layout_plan_nothing(finished: Path, edit: Callable) -> None:
    edit("src/shiftbench/methods/learners/map.py", COMMENT)
    edit(
        "src/shiftbench/core/interface.py",
        COMMENT,
        ('"""The interface', '"""This is the interface'),
    )
    edit("config/mine.yaml", ("    seeds: 4\n", "    seeds: 4  # enough\n    minutes: 3\n"))
    assert _plan(finished) == set()


@pytest.mark.long
def test_learner_plans_its_runs_and_what_depends_on_them(finished: Path, edit: Callable) -> None:
    edit("src/shiftbench/methods/learners/map.py", CODE)
    assert _nameless(_plan(finished)) == IMAGES_AFTER_RUNS | {
        "Warming up image-study: map on images, seeds 0 to 1",
        "Running image-study: lp on images, seeds 0 to 1",
        "Running image-study: independent on images, seeds 0 to 1",
    }


def test_warm_up_is_an_input_of_the_runs_that_share_it(finished: Path) -> None:
    (store,) = finished.glob("results/mine/warm-ups/image-study/images/mfvi-*/0-1.zarr.zip")
    run = finished / "results/mine/runs/image-study/images/vcl/0-1.zarr.zip"
    stream = "--input results/mine/streams/images.zarr.zip"
    assert f"{stream} {store.relative_to(finished)} --output" in run.read_text()
    alone = finished / "results/mine/runs/image-study/images/independent/0-1.zarr.zip"
    assert f"{stream} --output" in alone.read_text()


@pytest.mark.long
def test_new_method_takes_the_warm_up_that_is_there(finished: Path, edit: Callable) -> None:
    edit(
        "config/mine.yaml",
        ("      lp: [map]", "      greedy: [beam: {size: 1}, mfvi]\n      lp: [map]"),
    )
    assert _plan(finished) == IMAGES_AFTER_RUNS | {
        "Running image-study: greedy on images, seeds 0 to 1"
    }


@pytest.mark.long
def test_new_settings_of_the_learner_plan_a_warm_up(finished: Path, edit: Callable) -> None:
    edit("config/mine.yaml", ("vcl: [mfvi]", "vcl: [mfvi: {epochs: 9}]"))
    assert _nameless(_plan(finished)) == IMAGES_AFTER_RUNS | {
        "Warming up image-study: mfvi on images, seeds 0 to 1",
        "Running image-study: vcl on images, seeds 0 to 1",
    }


@pytest.mark.long
def test_combinator_plans_its_methods_and_figure_itself(finished: Path, edit: Callable) -> None:
    edit("src/shiftbench/methods/combinators/beam.py", CODE)
    edit("src/shiftbench/evaluation/artefacts/relative_accuracy.py", CODE)
    assert _plan(finished) == TOY_AFTER_RUNS | {
        "Running toy-study: search on steps, seeds 0 to 1",
        "Running toy-study: search on steps, seeds 2 to 3",
        "Drawing relative-accuracy of image-study",
        "Study image-study is done",
    }


@pytest.mark.long
def test_metric_of_whole_runs_plans_no_run(finished: Path, edit: Callable) -> None:
    edit("src/shiftbench/evaluation/metrics/shifts.py", CODE)
    assert _plan(finished) == TOY_AFTER_RUNS


@pytest.mark.long
def test_new_method_and_new_seeds_plan_their_jobs_only(finished: Path, edit: Callable) -> None:
    wide = "      wide: [beam: {size: 9}, gaussian-mean]\n      plain:"
    edit("config/mine.yaml", ("      plain:", wide), ("seeds: 4", "seeds: 6"))
    new = {"plain": ["4 to 5"], "search": ["4 to 5"], "wide": ["0 to 1", "2 to 3", "4 to 5"]}
    assert _plan(finished) == TOY_AFTER_RUNS | {
        f"Running toy-study: {method} on steps, seeds {block}"
        for method, blocks in new.items()
        for block in blocks
    }


@pytest.mark.long
def test_stream_setting_plans_the_stream_and_all_after_it(finished: Path, edit: Callable) -> None:
    edit("config/mine.yaml", ("points: 12", "points: 13"))
    plan = _plan(finished, "toy-study")
    assert "Building stream steps" in plan
    assert len([job for job in plan if job.startswith("Running toy-study")]) == 4
    assert plan >= TOY_AFTER_RUNS - {"All studies are done"}


@pytest.mark.long
def test_missing_store_is_made_again_though_all_after_it_is_there(finished: Path) -> None:
    """A killed rerun causes this: Snakemake removes the old store before the job starts."""
    store = finished / "results/mine/runs/toy-study/steps/search/2-3.zarr.zip"
    content = store.read_text()
    store.unlink()
    plan = _plan(finished)
    store.write_text(content)
    assert plan == TOY_AFTER_RUNS | {"Running toy-study: search on steps, seeds 2 to 3"}


@pytest.mark.long
def test_study_is_a_target(finished: Path) -> None:
    plan = _plan(finished, "toy-study", "--forceall")
    assert "Study toy-study is done" in plan
    assert not any("image" in job for job in plan)
