"""The summary of a study: failed runs, blocks of seeds, published numbers, and the tree's file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.scoring import paper_numbers, results, summarise
from tests.evaluation.scoring import continual_stores, stores


@pytest.fixture(scope="module")
def images():
    return stores.image_stream()


def spec(learners, metrics=("accuracy",)):
    return {
        "study": "s",
        "metrics": list(metrics),
        "learners": {name: [] for name in learners},
        "methods": {name: name for name in learners},
        "reference": "independent",
        "streams": ["images"],
    }


def summed(stream, runs, **names):
    learners = dict.fromkeys(summarise._about(run)[1] for run in runs)
    return summarise.summarise(spec(learners, **names), {"images": stream}, runs)


def test_a_failed_seed_keeps_its_status_and_enters_no_mean(images):
    run = stores.image_run(images, "vcl", 0.8, status=["ok", "failed: NaN in task 4", "ok"])
    run["score"][:, 1] = 99.0  # partial results of a failed run
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


REMEDY = "not finite; lower the learning rate"


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        ([], "1 of 1 runs"),
        ([REMEDY], f"1 of 2 runs; 1 failed: {REMEDY}"),
        ([REMEDY] * 19, f"1 of 20 runs; 19 failed: {REMEDY}"),
        (["b", "a", "a"], "1 of 4 runs; 3 failed: a (2 runs); b (1 run)"),
        (
            [f"NaN in task {i}" for i in range(9)] + ["memory"] * 2,
            "1 of 12 runs; 11 failed: memory (2 runs); NaN in task 0 (1 run); NaN in task 1 (1 run)"
            "; 7 more reasons, which the logs list",
        ),
        (["so " * 1000], f"1 of 2 runs; 1 failed: {'so ' * 51}[...]"),
    ],
)
def test_coverage_tells_each_reason_once_and_not_at_length(failed, words):
    status = ["ok", "", *(f"failed: {reason}" for reason in failed)]
    assert summarise.coverage(np.array(status)) == words


def test_a_caption_tells_a_reason_once(images):
    status = ["ok", f"failed: {REMEDY}", f"failed: {REMEDY}"]
    runs = [
        stores.image_run(images, name, 0.8, status=["ok"] * 3 if name == "lp" else status)
        for name in ("a", "b", "c", "lp")
    ]
    tree, table = summed(images, runs)
    study = results.StudyResults(
        "s", "S", "few tasks.", "", stores.by_path(tree), table, {"images": images}
    )
    assert study.basis() == (
        "images: 1 of 3 runs per method, but lp 3 of 3 runs; 6 failed: not finite; lower the"
        " learning rate. few tasks. Seeds vary orders of the images, transformations."
    )


def test_the_brief_end_of_a_caption_says_what_is_on_the_page(images):
    tree, table = summed(images, [stores.image_run(images, "a", 0.8)])
    tuned = "Every method is tuned alike: the best of 6 trials"
    study = results.StudyResults(
        "s", "S", "few tasks.", "", stores.by_path(tree), table, {"images": images}, tuning=tuned
    )
    assert study.basis().startswith(f"images: 3 of 3 runs per method. few tasks. {tuned}. Seeds")
    assert study.basis().brief == (
        "images: 3 of 3 runs per method. Every method is tuned alike."
        " Reductions from the paper are listed on the study's page."
    )
    uncut = dataclasses.replace(study, cuts="", tuning="")
    assert uncut.basis().brief == "images: 3 of 3 runs per method."


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
    # So few rows are far from the paper's training, which the note states.
    _, table = summed(stream, [stores.image_run(stream, "vcl-bnn", 0.8)])
    assert table["published"][0] == number
    assert table["published_note"][0] == "6e-07 of the paper's training"
    (found,) = {
        row.numbers[dataset][0] for row in paper_numbers.tables()[0].rows if row.label == "VCL"
    }
    assert found == number


def test_digits_have_no_published_number(images):
    _, table = summed(images, [stores.image_run(images, "vcl", 0.8)])
    assert np.isnan(table["published"][0])


def test_the_published_table_has_the_papers_nine_rows():
    table = next(one for one in paper_numbers.tables() if one.paper == "li2021vbs")
    assert table.table == "Table 1"
    assert len(table.rows) == 9
    assert table.rows[0].numbers["svhn"] == [0.896, 0.005]


def test_numbers_of_tasks_are_those_after_the_last_where_the_stream_looks_back():
    study = continual_stores.study(["vcl"])
    seen = continual_stores.matrix("vcl")[:, -1]
    for metric, of_accuracy in [("accuracy", seen), ("nll", 1 - seen), ("ece", (1 - seen) / 10)]:
        assert study.score("permuted-mnist", "vcl", metric) == pytest.approx(of_accuracy.mean(1))
    assert study.score("permuted-mnist", "vcl", "acc") == pytest.approx(seen.mean(1))
    by_task = study.by_task("permuted-mnist", "vcl", "accuracy")
    assert by_task[:, 4] == pytest.approx(continual_stores.matrix("vcl")[:, 4, :5].mean(1))


def test_without_looking_back_numbers_are_means_over_tasks(images):
    run = stores.image_run(images, "vcl", 0.8)
    tree, _ = summed(images, [run])
    assert tree["scores/score"].values[0, 0, 0] == pytest.approx(run["score"][0].mean("task"))


def test_forward_transfer_is_against_the_studys_independent_learner():
    study = continual_stores.study(["vogn", "independent"])
    ours, scratch = (continual_stores.matrix(name) for name in ("vogn", "independent"))
    expected = [
        np.mean([a[j, j] - s[j, j] for j in range(1, 10)])
        for a, s in zip(ours, scratch, strict=True)
    ]
    assert study.score("permuted-mnist", "vogn", "fwt") == pytest.approx(expected)
    assert study.score("permuted-mnist", "independent", "fwt") == pytest.approx([0, 0, 0])
    alone = continual_stores.study(["vogn"])
    assert np.isnan(alone.score("permuted-mnist", "vogn", "fwt")).all()
    assert alone.summary.set_index("metric")["n"]["fwt"] == 0


def test_a_seed_whose_reference_failed_has_no_forward_transfer():
    stream = continual_stores.stream()
    scratch = continual_stores.run(
        stream,
        "independent",
        continual_stores.matrix("independent"),
        status=["ok", "failed: NaN", "ok"],
    )
    study = continual_stores.study(["vogn", "independent"], runs=[scratch])
    known = ~np.isnan(study.score("permuted-mnist", "vogn", "fwt"))
    assert known.tolist() == [True, False, True]
    assert not np.isnan(study.score("permuted-mnist", "vogn", "bwt")).any()


def test_a_block_without_any_task_is_joined_where_the_stream_looks_back():
    stream = continual_stores.stream()
    matrix = continual_stores.matrix("vogn")
    good = continual_stores.run(stream, "vogn", matrix)
    bad = continual_stores.run(stream, "vogn", matrix, first=3, status=["failed: memory"] * 3)
    bad = bad.drop_vars(["tested", "after_metric"])
    study = continual_stores.study(["vogn"], runs=[bad, good])
    assert study.summary["n"][0] == 3
    assert study.run("permuted-mnist", "vogn")["tested"].sizes["seed"] == 3


def printed(stream, method, metric="acc"):
    """Return the number that a paper prints for a method at its own budget."""
    run = continual_stores.run(stream, method, continual_stores.matrix(method))
    found = paper_numbers.number(stream, run, method, metric)
    return None if found is None else found.mean


@pytest.mark.parametrize(
    ("settings", "learner", "metric", "number"),
    [
        ({}, "vogn", "acc", 0.94),
        ({}, "vcl-improved", "acc", 0.93),
        ({}, "ewc", "acc", 0.84),
        ({"heads": "multi"}, "ewc", "acc", None),
        ({"heads": "multi"}, "hat", "acc", 0.916),
        ({"tasks": 5}, "vogn", "acc", None),
        ({"judge_on": "validation"}, "vogn", "acc", None),
        ({"dataset": "digits"}, "vogn", "acc", None),
        ({}, "vogn", "accuracy", None),
        ({}, "lp", "acc", None),
    ],
)
def test_published_numbers_are_of_the_same_protocol(settings, learner, metric, number):
    assert printed(continual_stores.stream(**settings), learner, metric) == number


def test_split_streams_have_the_numbers_of_their_own_table():
    split = {"heads": "multi", "classes_per_task": 2, "tasks": 5}
    mnist = continual_stores.stream("s", "split-images", **split)
    assert printed(mnist, "ewc") == 0.631
    assert printed(continual_stores.stream("s", "split-images"), "ewc") is None
    cifar = continual_stores.stream("s", "split-images", dataset="cifar-10-100", heads="multi")
    table2 = {"acc": 0.744, "bwt": -0.007, "fwt": 0.018}
    assert {name: printed(cifar, "vogn", name) for name in table2} == table2
    assert printed(cifar, "independent") is None  # chance on all but the last task
    run = continual_stores.run(cifar, "si", continual_stores.matrix("si"))
    assert paper_numbers.number(cifar, run, "si", "acc").quoted == "Zenke et al. 2017"
    assert paper_numbers.number(cifar, run, "vogn", "acc").quoted == ""


def test_the_forward_transfer_of_ewc_is_not_between_those_of_the_others():
    cifar = continual_stores.stream("s", "split-images", dataset="cifar-10-100", heads="multi")
    ewc, *others = (printed(cifar, name, "fwt") for name in ("ewc", "vogn", "vcl-coreset-random"))
    assert not min(others) <= ewc <= max(others)


def test_a_name_is_no_method():
    """A variant that merely has the name of a method has no published number."""
    stream = continual_stores.stream()
    run = continual_stores.run(stream, "vogn", continual_stores.matrix("vogn"))
    assert paper_numbers.number(stream, run, None, "acc") is None
    plan = spec(["vogn"], continual_stores.METRICS) | {"streams": ["permuted-mnist"]}
    for methods, number in [({"vogn": "vogn"}, 0.94), ({}, None)]:
        _, table = summarise.summarise(
            plan | {"methods": methods, "reference": None}, {"permuted-mnist": stream}, [run]
        )
        shown = table.set_index("metric")["published"]["acc"]
        assert shown == number if number else np.isnan(shown)


@pytest.mark.parametrize(
    ("rows", "epochs", "comparable", "note"),
    [
        (60000, 100, True, ""),
        (60000, 25, True, "0.25 of the paper's training"),
        (60000, 24, False, "0.24 of the paper's training"),
        (1000, 100, False, "0.017 of the paper's training"),
    ],
)
def test_a_number_says_how_much_less_we_train_and_whether_it_is_comparable(
    rows, epochs, comparable, note
):
    stream = continual_stores.stream(rows=rows)
    matrix = continual_stores.matrix("vogn")
    run = continual_stores.run(stream, "vogn", matrix, epochs=epochs)
    found = paper_numbers.number(stream, run, "vogn", "acc")
    assert (found.mean, found.comparable, found.note) == (0.94, comparable, note)


def test_results_from_files_equal_those_in_memory(tmp_path):
    study = stores.image_study()
    zarr_zip.write(xr.DataTree.from_dict(dict(study.scores)), tmp_path / "scores.zarr.zip")
    study.summary.to_csv(tmp_path / "summary.csv", index=False)
    zarr_zip.write(study.streams["images"], tmp_path / "images.zarr.zip")
    again = results.load(
        {"study": "images", "title": "A study", "cuts": study.cuts, "origin": None},
        tmp_path / "scores.zarr.zip",
        tmp_path / "summary.csv",
        [tmp_path / "images.zarr.zip"],
    )
    xr.testing.assert_identical(again.cube, study.cube)
    assert again.methods == ["vbs-k6", "vcl", "lp"]
    assert again.basis() == study.basis()
    assert again.basis().startswith("images: 3 of 3 runs per method. 9 tasks in place of 100. ")


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ([1.5, 0.5, 0.5], r"a score is 1.5, and its bounds are 0.0 and 1.0"),
        ([-0.5, 0.5, 0.5], r"a score is -0.5, and its bounds"),
        (0.5, r"the score has the shape \(\) .*; return real numbers of the shape \(3,\)"),
        ([[0.5] * 3], r"the score has the shape \(1, 3\)"),
        (["high"] * 3, r"the score has the shape \(3,\) and the type <U4"),
    ],
)
def test_a_score_that_a_metric_may_not_have_is_refused(images, monkeypatch, score, message):
    run = stores.image_run(images, "vbs-k3", 0.8, decides=True)
    ours = components.load_metric("shift_recall")
    broken = dataclasses.replace(ours, score=lambda run, stream: np.array(score))
    monkeypatch.setattr(components, "load_metric", lambda name: broken)
    with pytest.raises(UserError, match=rf'metric "shift_recall" \(.*\): {message}'):
        summed(images, [run], metrics=["shift_recall"])


def test_a_score_may_exceed_its_bounds_by_rounding(images, monkeypatch):
    run = stores.image_run(images, "vbs-k3", 0.8, decides=True)
    ours = components.load_metric("shift_recall")
    rounded = dataclasses.replace(ours, score=lambda run, stream: np.full(3, 1 + 1e-15))
    monkeypatch.setattr(components, "load_metric", lambda name: rounded)
    _, table = summed(images, [run], metrics=["shift_recall"])
    assert table["mean"].tolist() == [pytest.approx(1)]
