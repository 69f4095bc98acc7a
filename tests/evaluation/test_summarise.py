"""The summary of a study: failed runs, blocks of seeds, published numbers, the tree's file."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.errors import UserError
from shiftbench.evaluation import published, results, summarise
from shiftbench.store import zarr_zip
from tests.evaluation import stores


@pytest.fixture(scope="module")
def images():
    return stores.image_stream()


def spec(learners, metrics=("accuracy",)):
    return {
        "study": "s",
        "metrics": list(metrics),
        "learners": {name: [] for name in learners},
        "streams": ["images"],
    }


def summed(stream, runs, **names):
    learners = dict.fromkeys(summarise._about(run)[1] for run in runs)
    return summarise.summarise(spec(learners, **names), {"images": stream}, runs)


def test_a_failed_seed_keeps_its_status_and_enters_no_mean(images):
    run = stores.image_run(images, "vcl", 0.8, status=["ok", "failed: NaN in task 4", "ok"])
    run["score"][:, 1] = 99.0  # whatever a failed run left behind
    tree, table = summed(images, [run])
    row = table.iloc[0]
    assert row["status"] == "2 of 3 runs; 1 failed: NaN in task 4"
    assert row["n"] == 2
    assert row["mean"] == pytest.approx(float(run["score"][0, [0, 2]].mean()))
    assert np.isnan(tree["scores/score"].sel(seed=1)).all()
    assert tree["runs/images/vcl/status"].values[1] == "failed: NaN in task 4"


def test_a_block_that_failed_as_a_whole_is_joined_with_the_others(images):
    good = stores.image_run(images, "vbs-k3", 0.8, decides=True)
    bad = stores.run_store(
        np.full((2, 2, 9), np.nan),
        stores.IMAGE_METRICS[:2],
        images,
        "vbs-k3",
        [["x", {}]],
        first=3,
        status=["failed: out of memory"] * 2,
    )
    tree, table = summed(images, [bad, good], metrics=("accuracy", "shift_recall"))
    assert table["n"].tolist() == [3, 3]
    assert table["status"][0] == "3 of 5 runs; 2 failed: out of memory"
    assert tree["runs/images/vbs-k3/seed"].values.tolist() == [0, 1, 2, 3, 4]
    assert table["mean"][1] == 0.5  # one of two true shifts


def test_columns_and_order_of_the_summary(images):
    runs = [stores.image_run(images, name, 0.8) for name in ("vcl", "lp")]
    _, table = summed(images, runs, metrics=("accuracy_first_hypothesis", "accuracy"))
    assert tuple(table.columns) == summarise.COLUMNS
    assert table["learner"].tolist() == ["vcl", "vcl", "lp", "lp"]
    assert table["metric"].tolist()[:2] == ["accuracy_first_hypothesis", "accuracy"]


def test_a_learner_without_a_run_is_named(images):
    with pytest.raises(UserError, match="lp"):
        summarise.summarise(
            spec(["vcl", "lp"]), {"images": images}, [stores.image_run(images, "vcl", 0.8)]
        )


def test_streams_of_different_length_share_a_cube(images):
    longer = stores.image_stream(tasks=12).assign_attrs(
        spec=images.attrs["spec"].replace('"images"', '"longer"')
    )
    runs = [stores.image_run(stream, "vcl", 0.8) for stream in (images, longer)]
    plan = spec(["vcl"]) | {"streams": ["images", "longer"]}
    tree, table = summarise.summarise(plan, {"images": images, "longer": longer}, runs)
    assert tree["scores/score_by_task"].sizes["task"] == 12
    assert table["n"].tolist() == [3, 3]


@pytest.mark.parametrize(("dataset", "number"), [("cifar-10", 0.667), ("svhn", 0.887)])
def test_published_numbers_stand_beside_the_same_data_set(dataset, number):
    stream = stores.image_stream(dataset)
    _, table = summed(stream, [stores.image_run(stream, "vcl", 0.8)])
    assert table["published"][0] == number


def test_digits_have_no_published_number(images):
    _, table = summed(images, [stores.image_run(images, "vcl", 0.8)])
    assert np.isnan(table["published"][0])


def test_the_published_table_has_the_papers_nine_rows():
    (table,) = (table for table in published.tables() if table.paper == "000")
    assert len(table.rows) == 9
    assert table.rows[0].numbers["svhn"] == [0.896, 0.005]


def test_results_from_files_equal_those_in_memory(tmp_path):
    study = stores.image_study()
    zarr_zip.write(study.scores, tmp_path / "scores.zarr.zip")
    study.summary.to_csv(tmp_path / "summary.csv", index=False)
    zarr_zip.write(study.streams["images"], tmp_path / "images.zarr.zip")
    again = results.load(
        {"study": "images", "title": "A study", "cuts": study.cuts, "origin": None},
        tmp_path / "scores.zarr.zip",
        tmp_path / "summary.csv",
        [tmp_path / "images.zarr.zip"],
    )
    xr.testing.assert_identical(again.cube, study.cube)
    assert again.learners == ["vbs-k6", "vcl", "lp"]
    assert again.budget() == "images: 3 of 3 runs per learner. 9 tasks in place of 100."
