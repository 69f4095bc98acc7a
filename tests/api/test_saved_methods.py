"""Modified files of methods are refused with a one-line message and change nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import shiftbench as sb
from shiftbench.data.store import checkpoint

CHANGED_META = [
    (("done",), "5", 'done: should be a whole number, such as 3 \\(it is "5"\\)'),
    (("done",), -1, "done: should be at least 0"),
    (("done",), None, "done: this key is missing"),
    (("method",), [], "method: should be"),
    (("method",), None, "method: this key is missing"),
    (("method", "seed"), 3, "a method with another seed"),
    (("method", "seed"), None, "a method with another seed"),
    (("method", "more"), 1, "a method with another more"),
    (("classes",), "ab", "classes: should be a list"),
    (("classes",), [["a"]], "classes.0.str: should be text"),
    (("classes",), ["a", "a"], "the classes .* are not those of such a method"),
    (("classes",), ["a", "b", "c"], "the classes .* are not those of such a method"),
    (("all_classes",), True, "the classes .* are not those of such a method"),
    (("all_classes",), "no", "all_classes: should be true or false"),
    (("form",), None, "names: this key is not known"),
    (("form",), [[2], 2], "form.2: this key is missing"),
    (("form",), [[3], 2, True, 1], "the names are not as many as the inputs"),
    (("form",), [[2], 1, False, 1], "the form has other outputs"),
    (("form",), [[2], 3, True, 1], "the form has other outputs"),
    (("names",), ["a"], "the names are not as many as the inputs"),
    (("names",), ["a", "a"], "the names are not as many as the inputs"),
    (("names",), 3, "names: should be a list"),
    (("single",), True, "single does not go with the form"),
    (("zz",), 1, "zz: this key is not known"),
]


@pytest.fixture
def saved(tmp_path):
    """Return a method, its file and the content of the file."""
    m = sb.method("online-logistic", classes=2)
    m.learn_one({"a": 1.0, "b": 0.5}, "up")
    path = tmp_path / "m.npz"
    m.save(path)
    return m, path, *checkpoint.read(path)


def refused(m, path, arrays, meta, message) -> None:
    checkpoint.write(path, arrays, meta)
    before, state = copy.deepcopy(m.__getstate__()[0]), m.state
    with pytest.raises(ValueError, match=message) as error:
        m.load(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
    assert m.__getstate__()[0] == before
    for name, array in m.state.items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.parametrize(("place", "value", "message"), CHANGED_META, ids=str)
def test_changed_meta_data_are_refused(saved, place, value, message) -> None:
    m, path, arrays, meta = saved
    *outer, key = place
    owner = meta[outer[0]] if outer else meta
    if value is None:
        del owner[key]
    else:
        owner[key] = value
    refused(m, path, arrays, meta, message)


@pytest.mark.parametrize("meta", [None, 3, [], {}, "x"])
def test_other_meta_data_are_refused(saved, meta) -> None:
    m, path, arrays, _ = saved
    refused(m, path, arrays, meta, "is damaged, or not what `save` wrote")


def test_changed_arrays_are_refused(saved) -> None:
    m, path, arrays, meta = saved
    name = next(name for name in arrays if name.startswith("state."))
    changed = {
        "is missing": {key: one for key, one in arrays.items() if key != name},
        "is not expected": arrays | {"state.zz": np.zeros(1)},
        "not like float64": arrays | {name: arrays[name].astype(np.float32)},
        "not like": arrays | {name: np.concatenate([arrays[name]] * 2, axis=-1)},
        "alarms": {key: one for key, one in arrays.items() if key != "changes.alarms"},
    }
    for message, those in changed.items():
        refused(m, path, those, meta, message)


def test_a_file_that_points_before_its_first_byte_is_refused(saved) -> None:
    m, path, *_ = saved
    data = bytearray(path.read_bytes())
    data[-3] ^= 1  # the highest byte of the place of the list of entries
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is damaged, or not what `save` wrote"):
        m.load(path)


def test_a_fresh_method_goes_back_to_its_first_row(tmp_path) -> None:
    m = sb.method("vbs-linear")
    m.save(tmp_path / "m.npz")
    m.learn_many(None, [1.0, 2.0])
    assert m.load(tmp_path / "m.npz").tasks_done == 0
    m.learn_one({"x": 1.0}, 2.0)
    assert m.tasks_done == 1 and m.feature_names == ("x",)


@pytest.mark.parametrize(("place", "why"), [("none.npz", "does not exist"), (".", "is a folder")])
def test_what_is_no_file_is_refused_with_the_remedy(tmp_path, place, why) -> None:
    with pytest.raises(ValueError, match=f"{why}; give a file that `save` wrote"):
        sb.method("vbs-linear").load(tmp_path / place)


def test_names_of_inputs_may_be_numbers_of_numpy(tmp_path) -> None:
    m = sb.method("vbs-linear")
    m.learn_one({np.int64(0): 1.0, "b": 2.0}, 1.0)
    m.save(tmp_path / "m.npz")
    assert sb.method("vbs-linear").load(tmp_path / "m.npz").feature_names == (0, "b")
