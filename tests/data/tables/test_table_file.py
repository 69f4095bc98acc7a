"""A user's table as a stream: the rows of a task, their scaling, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.config import components
from shiftbench.core.errors import UserError
from shiftbench.data.tables import table_file
from shiftbench.data.tables.table_file import Settings
from shiftbench.evaluation.metrics import derived

ROWS = [
    ("day", "x", "z", "y", "what", "new"),
    ("mon", 0, 5, 1.0, "b", 0),
    ("mon", 2, 5, 3.0, "a", 0),
    ("tue", 4, 5, 5.0, "b", 1),
    ("wed", 6, 5, 9.0, "c", 0),
    ("wed", 8, 5, 7.0, "a", 0),
]
ALL = {"columns": ("x",), "target": "y", "scaling": "none", "target_scaling": "none"}


def written(folder: Path, rows=ROWS) -> Path:
    path = folder / "table.csv"
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def build(folder: Path, rows=ROWS, **settings):
    path = written(folder, rows)
    return table_file.build(Settings(path=path.name, **(ALL | settings)), path)


def targets(store, t: int, part: str = "train", realisations=(0,)) -> list:
    batch = getattr(table_file.task(store, realisations, t), part)
    return [batch.targets[s][batch.mask[s]].ravel().tolist() for s in range(len(batch.mask))]


def test_a_row_is_a_task_in_the_order_of_the_file(tmp_path: Path) -> None:
    store = build(tmp_path)
    assert table_file.problem(store).n_tasks == 5
    task = table_file.task(store, [0, 0], 3)
    assert task.train.inputs.tolist() == [[[6]], [[6]]]
    assert task.train.targets.tolist() == [[[9]], [[9]]]
    assert task.validation is None and task.test is None


def test_the_last_block_is_filled_up_with_masked_rows(tmp_path: Path) -> None:
    store = build(tmp_path, rows_per_task=2)
    assert [targets(store, t)[0] for t in range(3)] == [[1, 3], [5, 9], [7]]
    last = table_file.task(store, [0], 2).train
    assert last.mask.tolist() == [[True, False]] and not last.inputs[0, 1].any()


def test_a_column_of_tasks_puts_rows_together(tmp_path: Path) -> None:
    store = build(tmp_path, task_column="day")
    assert [targets(store, t)[0] for t in range(3)] == [[1, 3], [5], [9, 7]]
    assert table_file.problem(store).n_train == 2


def test_a_task_that_comes_again_is_reported_with_its_line(tmp_path: Path) -> None:
    rows = [*ROWS, ("mon", 1, 1, 1, "a", 0)]
    with pytest.raises(UserError, match="line 7, column \"day\": task 'mon' comes again"):
        build(tmp_path, rows, task_column="day")


def test_shifts_are_truth_of_the_task_that_they_are_in(tmp_path: Path) -> None:
    assert np.flatnonzero(build(tmp_path, shift_column="new")["shift"][0]).tolist() == [2]
    blocks = build(tmp_path, shift_column="new", rows_per_task=2)
    assert blocks["shift"].values.tolist() == [[False, True, False]]
    assert blocks.attrs["truth"] == "known" and build(tmp_path).attrs["truth"] == "unknown"


def test_a_shift_that_is_neither_0_nor_1_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="line 2, column \"z\": '5' is neither 0 nor 1"):
        build(tmp_path, shift_column="z")


def test_classes_are_sorted_words_or_sorted_numbers(tmp_path: Path) -> None:
    store = build(tmp_path, target="what", kind="classes")
    assert store["class"].values.tolist() == ["a", "b", "c"]
    assert [targets(store, t)[0] for t in range(5)] == [[1], [0], [1], [2], [0]]
    assert table_file.task(store, [0], 0).train.targets.dtype == np.int32
    rows = [("x", "y"), (1, 10), (1, 9), (1, 100)]
    assert build(tmp_path, rows, kind="classes")["class"].values.tolist() == ["9", "10", "100"]


def test_one_number_in_two_forms_is_not_two_classes(tmp_path: Path) -> None:
    rows = [("x", "y"), (1, "1"), (1, "2"), (1, "1.0")]
    with pytest.raises(
        UserError, match=r"the classes '1' and '1\.0' are the same number; write it"
    ):
        build(tmp_path, rows, kind="classes")
    large = [("x", "y"), (1, str(2**53 + 1)), (1, str(2**53)), (1, "7")]
    named = build(tmp_path, large, kind="classes")["class"].values.tolist()
    assert named == ["7", str(2**53), str(2**53 + 1)]


def test_all_columns_without_another_role_are_features(tmp_path: Path) -> None:
    rows = [line[1:4] + line[5:] for line in ROWS]
    store = build(tmp_path, rows, columns=(), shift_column="new")
    assert store["feature"].values.tolist() == ["x", "z"]


def test_columns_of_texts_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    settings = ALL | {"columns": ()}
    store = build(tmp_path, **settings)
    assert store["feature"].values.tolist() == ["x", "z", "new"]
    note = 'Columns "day", "what" have no numbers and are left out; if one holds dates, set `time`'
    path = tmp_path / "table.csv"
    (result,) = table_file.look(Settings(path=path.name, **settings), path)
    assert result == store.attrs["left_out"] and result.startswith(note)
    assert not table_file.look(Settings(path=path.name, **ALL), path), "these were chosen"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("b", "'b' is not a number. Write a number, or leave the column out"),
        ('"2,5"', "'2,5' has a decimal comma; write 2.5"),
        ('"0,125"', "'0,125' has a decimal comma; write 0.125"),
        (
            '" -1,012 "',
            "' -1,012 ' is not a number; write -1012 without a thousands separator, or -1.012",
        ),
        ('"1,012,345"', "'1,012,345' is not a number; write 1012345 without a thousands separator"),
        ("", "the value is missing"),
    ],
)
def test_a_column_with_some_numbers_is_not_left_out(tmp_path: Path, cell: str, words: str) -> None:
    with pytest.raises(UserError, match=f'line 3, column "x": {words}'):
        build(tmp_path, [("x", "y"), (1, 1), (cell, 2), (3, 3)], columns=())


def test_a_column_of_time_labels_the_tasks_and_is_no_feature(tmp_path: Path) -> None:
    days = ("day", "2024-01-01", "2024-01-02", "2024-01-02", "2024-01-05", "2024-02-01")
    rows = [(day, *line[1:]) for day, line in zip(days, ROWS, strict=True)]
    store = build(tmp_path, rows, columns=(), time="day", history=1, rows_per_task=2)
    assert store["time"].values.tolist() == ["2024-01-02", "2024-01-05"]
    assert store["time"].attrs["column"] == "day"
    assert store["feature"].values.tolist() == ["x", "z", "new"]
    assert store.attrs["left_out"] == 'Column "what" has no numbers and is left out'
    rows[4] = ("2023-12-31", *rows[4][1:])
    with pytest.raises(UserError, match=r"line 5, column \"day\": '2023-12-31' comes after"):
        build(tmp_path, rows, time="day")


def test_a_file_with_another_delimiter_is_read_or_refused_with_the_setting(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for mark, written_as in [(";", '";"'), ("\t", '"\\\\t"')]:
        path.write_text(f"x{mark}y\n1{mark}2\n3{mark}5\n")
        store = table_file.build(Settings(path.name, "y", delimiter=mark), path)
        assert store["feature"].values.tolist() == ["x"]
        with pytest.raises(
            UserError, match=rf"there is one column, .* set `delimiter: {written_as}`"
        ):
            table_file.build(Settings(path.name, "y"), path)


def test_missing_dates_are_noted_also_those_of_the_history(tmp_path: Path) -> None:
    days = ("day", "2024-01-01", "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06")
    path = written(tmp_path, [(day, *line[1:4]) for day, line in zip(days, ROWS, strict=True)])
    settings = Settings(path=path.name, **ALL, time="day", history=2)
    (note,) = table_file.look(settings, path)
    assert note.startswith('In column "day" 1 of 6 days is missing, the first after 2024-01-01;')


def test_without_a_column_of_time_tasks_have_the_number_of_their_first_row(tmp_path: Path) -> None:
    store = build(tmp_path, history=1, rows_per_task=2)
    assert store["time"].values.tolist() == [2, 4]
    assert store["time"].attrs["column"] == "number of the row"
    assert "time" not in build(tmp_path, order="shuffled"), "where rows have no place in time"


def test_scaling_by_all_rows_and_a_constant_feature_becomes_0(tmp_path: Path) -> None:
    settings = {"columns": ("x", "z"), "target_scaling": "z-score"}
    store = build(tmp_path, scaling="z-score", **settings)
    assert store["inputs"].values.mean(axis=0) == pytest.approx(0)
    assert store["inputs"].values.std(axis=0).tolist() == pytest.approx([1, 0])
    assert store["target"].values == pytest.approx((np.array([1, 3, 5, 9, 7]) - 5) / np.sqrt(8))
    run = store[["realisation"]].rename(realisation="seed").assign(realisation=("seed", [0]))
    assert derived.target_sd(run, store).tolist() == pytest.approx([np.sqrt(8)])
    least = build(tmp_path, scaling="min-max")["inputs"].values[:, 0]
    assert least.tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_a_history_scales_and_is_no_task_and_nothing_is_known_ahead(tmp_path: Path) -> None:
    settings = {"history": 2, "scaling": "min-max"}
    store = build(tmp_path, **settings)
    assert store.sizes["task"] == 3
    assert table_file.task(store, [0], 0).train.inputs.ravel().tolist() == [2]  # (4 - 0) / 2
    facts = components.facts("streams", "table-file")
    assert not facts.words("ahead", vars(Settings("p", "y", **settings)))
    assert facts.words("ahead", vars(Settings("p", "y")))
    later = [*ROWS[:-1], ("wed", 800, 5, -7.0, "a", 0)]
    known = table_file.task(store, [0], 0)
    other = table_file.task(build(tmp_path, later, **settings), [0], 0)
    np.testing.assert_array_equal(known.train.inputs, other.train.inputs)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"order": "shuffled", "task_column": "day"}, "need the rows in the order of the file"),
        ({"order": "shuffled", "time": "day"}, "need the rows in the order of the file"),
        ({"order": "shuffled", "history": 2}, "need the rows in the order of the file"),
        ({"test_share": 0.2}, "nothing can be held out of tasks of one row"),
        ({"realisations": 2}, "are the same in all realisations"),
        ({"order": "shuffled", "realisations": 2}, ""),
        ({"task_column": "day", "validation_share": 0.2, "realisations": 2}, ""),
    ],
)
def test_settings_that_exclude_each_other_are_told_by_check(settings, wrong: str) -> None:
    filled = vars(Settings("p", "y", **settings))
    found = components.unsupported("streams", "table-file", filled)
    assert wrong in " ".join(found) and bool(found) == bool(wrong)


def test_each_realisation_has_its_own_order_of_the_same_rows(tmp_path: Path) -> None:
    rows = [("x", "y"), *((row, row) for row in range(50))]
    store = build(tmp_path, rows, order="shuffled", realisations=2, rows_per_task=10)
    result = [[y for t in range(5) for y in targets(store, t, realisations=[r])[0]] for r in (0, 1)]
    assert sorted(result[0]) == sorted(result[1]) == list(range(50))
    assert result[0] != result[1] and result[0] != list(range(50))


def test_held_out_rows_are_of_the_same_task_and_no_training_rows(tmp_path: Path) -> None:
    rows = [("x", "y"), *((row, row) for row in range(40))]
    shares = {"test_share": 0.3, "validation_share": 0.2}
    store = build(tmp_path, rows, rows_per_task=20, realisations=2, **shares)
    for t in range(2):
        parts = [targets(store, t, part)[0] for part in ("train", "validation", "test")]
        assert [len(part) for part in parts] == [10, 4, 6]
        assert sorted(y for part in parts for y in part) == list(range(20 * t, 20 * t + 20))
    assert targets(store, 0, "test") != targets(store, 0, "test", [1])


def test_a_task_too_small_to_hold_rows_out_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="task 2 has 1 rows, which give 1 for training, 0 for val"):
        build(tmp_path, rows_per_task=2, test_share=0.5)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"target": "whut"}, 'line 1: unknown column "whut"; did you mean "what"?'),
        ({"columns": ("xx",)}, 'line 1: unknown column "xx"; did you mean "x"?'),
        ({"columns": ("x", "y")}, 'column "y" is named by target and columns; let one name it'),
        ({"columns": ("x", "x")}, 'column "x" is named by columns and columns'),
        (
            {"columns": ("what",)},
            "line 2, column \"what\": 'b' is not a number. Write a number, or leave the column out",
        ),
        ({"target": "z"}, 'the target, column "z", has the value 5 in all rows'),
        ({"target": "z", "kind": "classes"}, "column \"z\", has one class only, '5'"),
        (
            {"target": "what", "kind": "two-classes"},
            'column "what" has 3 classes (a, b, c), not two; set kind to classes',
        ),
        ({"history": 5}, "history is 5, but the table has 5 rows, and none is left"),
        (
            {"history": 1, "scaling": "z-score"},
            'column "x" is constant in the first 1 rows, so it has no scale; raise history, or set'
            " scaling: none",
        ),
        (
            {"history": 1, "target_scaling": "z-score"},
            'column "y" is constant in the first 1 rows, so it has no scale; raise history, or set'
            " target_scaling: none",
        ),
    ],
)
def test_each_mistake_is_one_error_also_before_anything_runs(tmp_path, settings, words) -> None:
    with pytest.raises(UserError) as error:
        build(tmp_path, **settings)
    assert words in str(error.value)
    path = tmp_path / "table.csv"
    with pytest.raises(UserError) as looked:
        table_file.look(Settings(path=path.name, **(ALL | settings)), path)
    assert str(looked.value) == str(error.value)
