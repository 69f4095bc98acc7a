"""Tables in splits: the rows of each part, scaling without look-ahead, and errors."""

from __future__ import annotations

import functools
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import StandardScaler

from shiftbench.config import compatibility, components
from shiftbench.config.schema import Stream
from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.data.store import raw as raw_files
from shiftbench.data.tables import _arff, _uci, table_splits
from shiftbench.data.tables.table_splits import Settings
from shiftbench.methods.learners import linear_gaussian
from tests.real_files import needs_mirror

squared_error = components.load_metric("test_squared_error")

ROWS = np.array([[0, 5, 1, 10], [1, 5, 2, 20], [2, 5, 4, 30], [3, 5, 8, 40], [4, 6, 9, 50]])
"""Column 2 is neither feature nor target; column 1 is constant except in the last row."""
FILES = {
    "data.txt": "\n".join(" ".join(map(str, row)) for row in ROWS) + "\n\n",
    "index_features.txt": "0\n1\n",
    "index_target.txt": "3\n",
    "index_train_0.txt": "3\n0\n1\n",
    "index_test_0.txt": "4\n2\n",
    "index_train_1.txt": "4\n2\n0\n",
    "index_test_1.txt": "1\n3\n",
}


@functools.cache
def build(raw: Path = Path("unused"), **settings):
    return table_splits.build(Settings(**settings), raw)


def archive(folder: Path, **changed: str) -> Path:
    """Write an archive of one small set to a folder; omit files without text."""
    names = {name.replace(".", "_"): name for name in FILES}
    content = FILES | {names[key]: text for key, text in changed.items()}
    with tarfile.open(folder / _uci.ARCHIVE, "w:xz") as packed:
        for name, text in content.items():
            info = tarfile.TarInfo(f"UCI_Datasets/yacht/data/{name}")
            info.size = len(text.encode())
            if text:
                packed.addfile(info, io.BytesIO(text.encode()))
    return folder


def yacht(folder: Path, changed: dict | None = None, **settings):
    fields = {"dataset": "uci-yacht", "realisations": 2} | settings
    return table_splits.build(Settings(**fields), archive(folder, **(changed or {})))


def test_published_splits_give_the_rows_of_the_files_in_their_order(tmp_path):
    store = yacht(tmp_path, scaling="none")
    task = table_splits.task(store, [1, 0], 0)
    np.testing.assert_array_equal(task.train.inputs[0], [[4, 6], [2, 5], [0, 5]])
    np.testing.assert_array_equal(task.train.targets[1, :, 0], [40, 10, 20])
    np.testing.assert_array_equal(task.test.targets[..., 0], [[20, 40], [50, 30]])
    assert task.validation is None and task.train.mask.all()
    problem = table_splits.problem(store)
    assert (problem.kind, problem.input_shape, problem.n_outputs) == ("regression", (2,), 1)
    assert store["target"].units == "1" and "resistance" in store["target"].long_name


def test_scaling_knows_the_training_rows_alone(tmp_path):
    task = table_splits.task(store := yacht(tmp_path), [0, 1], 0)
    for s, (train, test) in enumerate((([3, 0, 1], [4, 2]), ([4, 2, 0], [1, 3]))):
        scaler = StandardScaler().fit(ROWS[train][:, [0]])
        for batch, rows in ((task.train, train), (task.test, test)):
            expected = scaler.transform(ROWS[rows][:, [0]])
            np.testing.assert_allclose(batch.inputs[s][:, :1], expected, rtol=1e-6)
        target = ROWS[train, 3]
        assert store["target_mean"].values[s] == pytest.approx(target.mean())
        assert store["target_sd"].values[s] == pytest.approx(target.std())
        expected = (ROWS[test, 3] - target.mean()) / target.std()
        np.testing.assert_allclose(task.test.targets[s, :, 0], expected, rtol=1e-6)
    # Constant in the training rows of split 0, hence 0 in its test rows as well.
    assert (task.test.inputs[0][:, 1] == 0).all()


def test_min_max_scaling_is_of_the_training_rows(tmp_path):
    task = table_splits.task(yacht(tmp_path, scaling="min-max"), [0], 0)
    np.testing.assert_allclose(task.train.inputs[0, :, 0], [1, 0, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(task.test.inputs[0, :, 0], [4 / 3, 2 / 3], rtol=1e-6)


@pytest.mark.parametrize("dataset", ["breast-cancer", "diabetes", "digits"])
def test_random_splits_have_every_row_once_and_differ(dataset):
    store = build(dataset=dataset, realisations=3, validation=50)
    rows = [store[f"{part}_rows"].values for part in ("train", "validation", "test")]
    size = store.sizes["row"]
    np.testing.assert_array_equal(np.sort(np.hstack(rows), axis=1), [np.arange(size)] * 3)
    assert rows[1].shape[1] == 50 and rows[2].shape[1] == round(0.2 * size)
    for part in rows:
        assert len({tuple(one) for one in part}) == 3
    if store.attrs["classes"]:
        shares = np.bincount(store["target"].values) / size
        for part in rows:
            result = np.bincount(store["target"].values[part[1]]) / part.shape[1]
            np.testing.assert_allclose(result, shares, atol=1 / part.shape[1])


def test_rows_are_those_of_the_data():
    store = build(dataset="diabetes", realisations=2, scaling="none")
    data = load_diabetes(scaled=False)
    test = table_splits.task(store, [1], 0).test
    rows = store["test_rows"].values[1]
    np.testing.assert_allclose(test.inputs[0], data.data[rows], rtol=1e-6)
    np.testing.assert_array_equal(test.targets[0, :, 0], data.target[rows])


def test_digits_are_images():
    store = build(dataset="digits", realisations=2, scaling="min-max", test_share=0.25)
    task = table_splits.task(store, [0], 0)
    problem = table_splits.problem(store)
    assert problem.input_shape == (8, 8, 1) and problem.n_outputs == 10
    rows = store["test_rows"].values[0]
    train = load_digits().images[store["train_rows"].values[0]]
    levels = np.where(train.max(axis=0) > 0, train.max(axis=0), np.inf)
    expected = load_digits().images[rows] / levels
    np.testing.assert_allclose(task.test.inputs[0, ..., 0], expected, rtol=1e-6)
    np.testing.assert_array_equal(task.test.targets[0], load_digits().target[rows])


def test_repeats_show_the_same_rows_again():
    store = build(realisations=2, repeats=3)
    assert table_splits.problem(store).n_tasks == 3
    first, last = (table_splits.task(store, [1], t) for t in (0, 2))
    np.testing.assert_array_equal(first.train.inputs, last.train.inputs)
    np.testing.assert_array_equal(first.test.targets, last.test.targets)


def seen(batch) -> set[bytes]:
    return {row.tobytes() for row in batch.inputs[0]} if batch else set()


def test_judged_on_validation_no_test_row_appears():
    plain = build(realisations=2, validation=60)
    tuning = build(realisations=2, validation=60, judge_on="validation")
    whole, task = table_splits.task(plain, [0], 0), table_splits.task(tuning, [0], 0)
    assert task.validation is None and len(task.test.mask[0]) == 60
    np.testing.assert_array_equal(task.test.inputs, whole.validation.inputs)
    np.testing.assert_array_equal(task.train.inputs, whole.train.inputs)
    assert not (seen(task.train) | seen(task.test)) & seen(whole.test)
    assert not seen(whole.train) & seen(whole.validation)


def test_trials_see_no_row_of_the_pool_from_which_all_test_rows_come():
    settings = {"realisations": 4, "test_pool": 0.4, "validation": 60}
    judged = build(**settings)
    tried = build(**settings | {"judge_on": "validation", "first_realisation": 100})
    test_rows, size = np.unique(judged["test_rows"]), judged.sizes["row"]
    parts = [tried["train_rows"].values.ravel(), tried["validation_rows"].values.ravel()]
    seen_by_trials = np.unique(np.concatenate(parts))
    assert not set(test_rows) & set(seen_by_trials)
    assert len(seen_by_trials) == size - round(0.4 * size)
    assert len(test_rows) > 1.5 * judged.sizes["test"], "other splits have other test rows"
    assert judged.sizes["train"] == build(validation=60).sizes["train"], "judged as before"


def test_a_pool_of_all_rows_draws_the_same_splits_as_none():
    np.testing.assert_array_equal(build(test_pool=1.0)["test_rows"], build()["test_rows"])


def test_later_splits_do_not_depend_on_the_first():
    late, all_of_them = build(first_realisation=2, realisations=2), build(realisations=4)
    np.testing.assert_array_equal(late["test_rows"], all_of_them["test_rows"][2:])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"index_test_1_txt": "1\n5\n"}, r"index_test_1.txt: line 2 names row 5.* 0 to 4"),
        ({"index_train_0_txt": "3\n-1\n0\n"}, r"index_train_0.txt: line 2 names row -1"),
        ({"index_train_0_txt": "3\n0.5\n1\n"}, r"line 2 names row 0.5"),
        ({"index_train_0_txt": "3\n3\n1\n"}, "names a row twice"),
        ({"index_test_0_txt": "4\n3\n"}, "index_test_0.txt: row 3 is a training row as well"),
        ({"index_test_1_txt": ""}, "index_test_1.txt: it is missing"),
        ({"index_target_txt": "4\n"}, "index_target.txt: line 1 names column 4"),
        ({"data_txt": "1 2\nx 3\n"}, "data.txt: could not convert"),
        ({"data_txt": "1 2 3 4\n1 nan 2 3\n"}, "data.txt: a value is missing"),
        ({"index_train_1_txt": "4\n2\n"}, "have 2 to 3 train rows"),
    ],
)
def test_a_wrong_split_file_is_named(tmp_path, changed, reason):
    with pytest.raises(UserError, match=reason) as caught:
        yacht(tmp_path, changed)
    assert _uci.ARCHIVE in str(caught.value) or "fewer realisations" in str(caught.value)


def test_a_constant_target_is_refused(tmp_path):
    constant = "\n".join(f"{row[0]} 5 1 {10 if row[0] < 4 else 50}" for row in ROWS)
    with pytest.raises(UserError, match=r"split 0: its train part has the constant target 10"):
        yacht(tmp_path, {"data_txt": constant})


def test_more_splits_than_are_published(tmp_path):
    with pytest.raises(UserError, match=r"2 published splits, 0 to 1, but .* realisations 3"):
        yacht(tmp_path, realisations=3)
    with pytest.raises(UserError, match="first_realisation is 1"):
        yacht(tmp_path, first_realisation=1)
    with pytest.raises(UserError, match="published splits, so test_pool must be 1"):
        yacht(tmp_path, test_pool=0.5)


def test_a_missing_or_damaged_archive(tmp_path):
    for content in (None, b"<html>moved</html>"):
        if content:
            (tmp_path / _uci.ARCHIVE).write_bytes(content)
        with pytest.raises(UserError, match="fetch"):
            table_splits.build(Settings(dataset="uci-yacht", realisations=2), tmp_path)


HEAD = "@relation dr\n" + "".join(f"@attribute {n} numeric\n" for n in range(20)) + "@data\n"


def messidor(folder: Path, rows: list[str], **settings):
    (folder / _arff.FILE).write_text(HEAD + "\n".join(rows) + "\n")
    return table_splits.build(
        Settings(dataset="messidor-features", realisations=2, **settings), folder
    )


def row(label: object, first: object = 1) -> str:
    return ",".join(map(str, [first, *range(18), label]))


def test_features_of_an_arff_file(tmp_path):
    store = messidor(tmp_path, [row(n % 2, n) for n in range(20)])
    np.testing.assert_array_equal(store["inputs"].values[:, 0], np.arange(20))
    np.testing.assert_array_equal(store["target"].values, np.arange(20) % 2)
    assert store["target"].dtype == np.int32 and store.sizes["feature"] == 19


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (
            [row(0)] * 20,
            r"messidor_features.arff, split 0: its train part .* of one class only, 0",
        ),
        ([row(0)] * 19 + [row(1)], "part has rows of one class only"),
        ([row(0), row(2)], "row 2 of the data: 2 is not a class"),
        ([row(0, "?"), row(1)], "row 1 of the data: a value is missing"),
        (["1,2,3"], "not what it should be"),
        ([row(0, "word")], "not what it should be"),
    ],
)
def test_a_wrong_arff_file_is_reported(tmp_path, rows, reason):
    with pytest.raises(UserError, match=reason):
        messidor(tmp_path, rows)


def test_a_missing_arff_file_and_another_one(tmp_path):
    settings = Settings(dataset="messidor-features")
    with pytest.raises(UserError, match=r"messidor_features\.arff is missing"):
        table_splits.build(settings, tmp_path)
    (tmp_path / _arff.FILE).write_text("<html>moved</html>")
    with pytest.raises(UserError, match="not what it should be"):
        table_splits.build(settings, tmp_path)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"judge_on": "validation"}, "Set validation"),
        ({"validation": 455}, "there are 455 training rows"),
        ({"test_share": 0.0005}, "its test part has no rows"),
        ({"test_share": 0.002}, "its test part has rows of one class only, 1"),
        ({"test_pool": 0.1}, r"test_share is 0.2, but test rows come from a test_pool of 0.1"),
    ],
)
def test_settings_that_leave_nothing(settings, reason):
    with pytest.raises(UserError, match=reason):
        build(realisations=2, **settings)


@pytest.mark.parametrize(
    ("dataset", "kind", "learners"),
    [
        ("breast-cancer", "classes", {"map", "mfvi", "vogn", "slang", "ucb"}),
        ("messidor-features", "classes", {"map", "mfvi", "vogn", "slang", "ucb"}),
        ("digits", "image", {"map", "mfvi", "vogn", "slang", "ucb"}),
        ("diabetes", "number", {"linear-gaussian", "gaussian-mean", "oga", "svb"}),
        ("uci-yacht", "number", {"linear-gaussian", "gaussian-mean", "oga", "svb"}),
    ],
)
def test_learners_of_its_kind_fit(dataset, kind, learners):
    stream = compatibility.given("s", Stream(family="table-splits", dataset=dataset))
    assert stream.kind == kind and learners <= set(compatibility.fitting("learners", stream))


def test_a_linear_learner_predicts_as_ridge_regression_does():
    """The learner takes all rows of a task at once, and no intercept, as the data are scaled."""
    store, key = build(dataset="diabetes", realisations=2), seeds.block(range(2), "test")
    task = table_splits.task(store, [0, 1], 0)
    learner = linear_gaussian.build(linear_gaussian.Settings(), table_splits.problem(store))
    state, _ = learner.observe(learner.init(key), task.train, key)
    error = squared_error.score(learner.predict(state, task.test.inputs, key), task.test)
    for s in range(2):
        ridge = Ridge(fit_intercept=False).fit(task.train.inputs[s], task.train.targets[s, :, 0])
        expected = mean_squared_error(
            task.test.targets[s, :, 0], ridge.predict(task.test.inputs[s])
        )
        assert error[s] == pytest.approx(expected, rel=0.02)


SIZES = {
    "uci-boston": (506, 13, 20), "uci-concrete": (1030, 8, 20), "uci-energy": (768, 8, 20),
    "uci-kin8nm": (8192, 8, 20), "uci-naval": (11934, 16, 20),
    "uci-power-plant": (9568, 4, 20), "uci-protein": (45730, 9, 5), "uci-wine": (1599, 11, 20),
    "uci-yacht": (308, 6, 20),
}  # fmt: skip


@needs_mirror
@pytest.mark.parametrize("dataset", SIZES)
def test_real_sets_have_their_published_splits(tmp_path, dataset):
    assert SIZES.keys() == _uci.SETS.keys()
    raw_files.fetch(dataset, _uci.ARCHIVE, tmp_path / _uci.ARCHIVE)
    rows, features, splits = SIZES[dataset]
    store = table_splits.build(Settings(dataset=dataset, realisations=splits), tmp_path)
    assert (store.sizes["row"], store.sizes["feature"]) == (rows, features)
    both = np.hstack([store["train_rows"].values, store["test_rows"].values])
    np.testing.assert_array_equal(np.sort(both, axis=1), [np.arange(rows)] * splits)
    assert store.sizes["test"] == pytest.approx(rows / 10, abs=1)


@needs_mirror
def test_real_features_of_eyes(tmp_path):
    raw_files.fetch("messidor-features", _arff.FILE, tmp_path / _arff.FILE)
    store = table_splits.build(Settings(dataset="messidor-features"), tmp_path)
    assert np.bincount(store["target"].values).tolist() == [540, 611]
    assert store["inputs"].shape == (1151, 19)
