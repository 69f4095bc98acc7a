"""Methods from Python: exact posteriors, forms of rows, errors, state and changes."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse

import shiftbench as sb
from shiftbench.api.recorded_changes import RecordedChanges
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch
from shiftbench.evaluation.scoring import alarms, shift_probabilities

MLP = {"mlp": {"hidden": [3]}}
TWICE = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
LEVELS = np.random.default_rng(3).normal(size=120) + np.repeat([0.0, 6.0, -2.0], 40)


def taught(name: str, **given) -> sb.method:
    """Return a method for series that has learnt LEVELS."""
    found = sb.method(name, **given)
    found.learn_many(None, LEVELS)
    return found


def test_five_rows_give_the_exact_posterior() -> None:
    """The normal equations have precision I / v + X'X / s^2 and a bias."""
    rows = [(1.0, 2.0), (2.0, 1.0), (-1.0, 0.5), (0.0, -2.0), (3.0, 4.0)]
    m = sb.method("vcl-linear", noise_sd=0.5, prior_variance=4.0)
    for x, y in rows:
        m.learn_one({"x": x}, y)
    design = np.array([[x, 1.0] for x, _ in rows])
    covariance = np.linalg.inv(np.eye(2) / 4 + design.T @ design / 0.25)
    mean = covariance @ design.T @ np.array([y for _, y in rows]) / 0.25
    found = m.predict_one({"x": 1.5})
    at = np.array([1.5, 1.0])
    assert found.mean == pytest.approx(at @ mean, rel=1e-9)
    assert found.sd == pytest.approx(np.sqrt(0.25 + at @ covariance @ at), rel=1e-9)


def test_a_mixture_is_collapsed_by_its_moments() -> None:
    """A beam of one has two hypotheses: the posterior for s = 0, the broadened one for s = 1."""
    beam = {"beam": {"size": 1, "broadening": "geometric", "beta": 0.5}}
    m = sb.method([beam, {"gaussian-mean": {"noise_sd": 1.0, "prior_variance": 2.0}}])
    m.learn_one(None, 3.0)
    precision, mean = 1.5, 2.0
    wide = 0.5 * precision + 0.5 * 0.5
    means, variances = [mean, 0.5 * precision * mean / wide], [1 / precision + 1, 1 / wide + 1]
    found = m.predict_one()
    assert found.mean == pytest.approx(np.mean(means))
    assert found.sd**2 == pytest.approx(np.mean(variances) + np.var(means))


def test_the_order_of_names_does_not_matter_and_frames_are_read_by_name() -> None:
    numbers = np.random.default_rng(0).normal(size=(12, 3))
    frame = pd.DataFrame(numbers[:, :2], columns=["a", "b"])
    one, other, many = (sb.method("vbs-linear") for _ in range(3))
    for (a, b), y in zip(numbers[:, :2], numbers[:, 2], strict=True):
        one.learn_one({"a": a, "b": b}, y)
        other.learn_one({"b": b, "a": a} if other.tasks_done else {"a": a, "b": b}, y)
    many.learn_many(frame, numbers[:, 2])
    for name, array in one.state.items():
        np.testing.assert_array_equal(other.state[name], array)
        np.testing.assert_array_equal(many.state[name], array)
    alone = [one.predict_one(row) for row in frame.to_dict("records")]
    together = many.predict_many(frame[["b", "a"]])
    assert [p.mean for p in alone] == together.mean.tolist()
    assert [p.sd for p in alone] == together.sd.tolist()


def test_labels_are_words_numbers_or_truth_values() -> None:
    x, up = np.random.default_rng(1).normal(size=(30, 2)), []
    for labels in (["down", "up"], [0, 1], [False, True]):
        m = sb.method("online-logistic", classes=labels)
        for row in x:
            m.learn_one(row, labels[int(row[0] > 0)])
        found = m.predict_one([2.0, 0.0])
        assert [*found] == labels and sum(found.values()) == pytest.approx(1.0)
        up.append(found[labels[1]])
    assert up[0] > 0.8 and len(set(up)) == 1


def test_labels_may_come_up_to_a_number() -> None:
    m = sb.method("online-logistic", classes=2)
    m.learn_one([1.0], "b")
    assert [*m.predict_one([1.0])] == ["b"] == m.classes
    m.learn_many([[0.0], [1.0]], ["a", None])
    assert [*m.predict_one([1.0])] == ["b", "a"] and m.predict_many([[1.0]]).shape == (1, 2)
    assert m.tasks_done == 2
    with pytest.raises(ValueError, match="unknown class 'c'; the method has 'b' and 'a'"):
        m.learn_one([1.0], "c")


def test_several_targets_and_design_matrices() -> None:
    m = sb.method("bocpd")
    m.learn_many(None, np.zeros((3, 2)))
    assert m.predict_one().mean.shape == (2,) and m.predict_many(4).sd.shape == (4, 2)
    design = sb.method("linear-regression", settings={"bayes-linear.a0": 2.0})
    design.learn_one([[1.0, 0.0], [0.0, 2.0]], [1.0, 4.0])
    design.learn_one([[1.0, 0.0], [0.0, 2.0]], [np.nan, 4.0])
    assert design.tasks_done == 1 and np.isfinite(design.predict_one(np.eye(2)).sd).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.method("vbs-linar"), 'unknown method "vbs-linar"; did you mean "vbs-linear"?'),
        (lambda: sb.method("vbs-linear", nois_sd=1), 'setting "nois_sd"; did you mean "noise_sd"?'),
        (
            lambda: sb.method("vbs-linear", noise_sd=-1),
            "linear-gaussian.noise_sd: should be a number above 0",
        ),
        (lambda: sb.method("vbs-linear", settings={"bem.size": 2}), 'did you mean "beam"?'),
        (
            lambda: sb.method([{"forget": {}}, {"reset": {}}, "beam"]),
            '"beam" is a combinator; the last item must be a learner',
        ),
        (
            lambda: sb.method([{"forget": {}}, "beam", "linear-gaussian"], beta=0.5),
            'several components have a setting "beta": forget.beta and beam.beta; write settings=',
        ),
        (lambda: sb.method("vcl"), '"mfvi" trains a network; give model='),
        (lambda: sb.method("bocpd", model=MLP), '"bayes-linear" trains no network'),
        (lambda: sb.method("vcl", model={"mpl": {}}), 'unknown model "mpl"; did you mean "mlp"'),
        (lambda: sb.method("pbp-mv"), '"pbp-mv" cannot be run: its numbers'),
        (lambda: sb.method("online-logistic", classes=["a"]), "give two labels or more"),
        (lambda: sb.method("online-logistic", classes="ab"), "give a list of labels"),
        (lambda: sb.method("online-logistic", classes={"a", "b"}), "give a list of labels"),
        (lambda: sb.method("online-logistic", classes=2.0), "give a list of labels"),
        (lambda: sb.method("online-logistic", classes=[["a"], ["b"]]), "give a list of labels"),
        (lambda: sb.method("online-logistic", classes=["a", pd.NA]), "give a list of labels"),
        (lambda: sb.method("bocpd", seed=None), "seed: None; give a whole number from 0"),
        (lambda: sb.method("bocpd", seed=1.5), "seed: 1.5; give a whole number from 0"),
        (lambda: sb.method("bocpd", seed="a"), "seed: 'a'; give a whole number from 0"),
        (lambda: sb.method("bocpd", seed=-1), "seed: -1; give a whole number from 0"),
        (
            lambda: sb.method("bocpd", seed=2**70),
            "give a whole number from 0 to 9223372036854775807",
        ),
        (lambda: sb.method("bocpd", tasks=0), "tasks: 0; give a whole number from 1"),
        (lambda: sb.method("bocpd", settings="a0"), "settings: 'a0'; give a mapping of names"),
        (
            lambda: sb.method("bocpd", hazard=0.05, settings={"run-length.hazard": 0.1}),
            'hazard and "run-length.hazard" are one setting; give it once',
        ),
        (lambda: sb.method("bocpd", a0={(1, 2): 3}), "a0: keys must be str"),
        (lambda: sb.method("vcl", model={(1, 2): 3}), "model: keys must be str"),
        (lambda: sb.method(b"bocpd"), "is not a method; give a name"),
    ],
)
def test_wrong_settings_are_refused_with_the_remedy(make, message) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "x", "y", "message"),
    [
        (lambda: sb.method("online-logistic"), [1.0], 2.0, "name the classes of labels"),
        (lambda: sb.method("vbs-linear"), [1.0], "up", "are labels; name the classes when"),
        (lambda: sb.method("vbs-linear", classes=2), [1.0], 1, "take another method"),
        (lambda: sb.method("oga", classes=2), [1.0], 1, "give it: sb.method(..., tasks=NUMBER)"),
        (lambda: sb.method("vbs-linear"), [1.0], [1.0, 2.0], "2 targets needs a design matrix"),
        (lambda: sb.method("vbs-words"), [1.0], 2.0, "counts of pairs of words"),
        (lambda: sb.method("hat", model=MLP, classes=2), [1.0], 1, "a head for each task"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_the_remedy(make, x, y, message) -> None:
    with pytest.raises(ValueError) as error:
        make().learn_one(x, y)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": 1.0}, 1.0, "the row has no b; it has a"),
        ({}, 1.0, "the row has no a and b; it is empty"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, 1.0, "c: earlier rows had no such input"),
        ([1.0, 2.0], 1.0, "inputs without names"),
        (None, 1.0, "a row without inputs"),
        ({"a": "red", "b": 1.0}, 1.0, "encode words as numbers"),
        ({"a": np.datetime64("2024-01-05"), "b": 1.0}, 1.0, "inputs are real numbers"),
        ({"a": 1 + 5j, "b": 1.0}, 1.0, "inputs are real numbers"),
        ({"a": 1.0, "b": float("nan")}, 1.0, "input b is nan; fill gaps"),
        ({"a": 1e200, "b": 1.0}, 1.0, r"input a is 1e\+200; scale the inputs"),
        ({"a": 1.0, "b": 1.0}, -1e200, r"a target is -1e\+200; scale the targets"),
        ({"a": 1.0, "b": 1.0}, [1.0, 2.0], "targets of shape"),
        ({"a": 1.0, "b": 1.0}, float("inf"), "infinite"),
        ({"a": 1.0, "b": 1.0}, "up", "are labels"),
        ({"a": 1.0, "b": 10**400}, 1.0, "inputs are numbers"),
        ({"a": 1.0, "b": 1.0}, 10**400, "a target is too large; scale"),
        (
            {"a": 1.0, "b": 1.0},
            [[1.0], [1.0, 2.0]],
            "targets: a list with rows of different lengths",
        ),
        (pd.Series([1.0, 2.0, 3.0], ["a", "b", "b"]), 1.0, "several inputs are called b"),
    ],
)
def test_a_wrong_row_is_refused_and_changes_nothing(x, y, message) -> None:
    m = sb.method("vbs-linear")
    m.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = m.state
    with pytest.raises(ValueError, match=message):
        m.learn_one(x, y)
    assert m.tasks_done == 1
    for name, array in m.state.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("learn", "message"),
    [
        (lambda m: m.learn_one(3.0, 1.0), r"x is the number 3.0; give \[x\]"),
        (lambda m: m.learn_many([1.0, 2.0], [1.0, 2.0]), r"shape \(2,\); give \[rows, inputs\]"),
        (lambda m: m.learn_one(pd.DataFrame({"x": [3]}), 1.0), "for several rows, call learn_many"),
        (lambda m: m.learn_many(None, 5.0), "y is a float; give rows as a list"),
        (lambda m: m.learn_many(None, (y for y in [1.0])), "y is a generator; give rows"),
        (lambda m: m.learn_many(None, {"y": 1.0}), "y is a dict; give rows"),
        (lambda m: m.learn_many(TWICE, [1.0]), "several inputs are called a; rename them"),
    ],
)
def test_what_has_no_rows_or_inputs_is_refused(learn, message) -> None:
    m = sb.method("vcl-linear")
    with pytest.raises(ValueError, match=message):
        learn(m)
    assert m.tasks_done == 0


@pytest.mark.parametrize(
    "targets",
    [
        [Decimal("1.5"), None, Decimal("nan")],
        [1.5, pd.NA, pd.NaT],
        pd.Series([1.5, None, None], dtype="Float64"),
    ],
)
def test_decimals_are_numbers_and_every_missing_value_is_left_out(targets) -> None:
    m, plain = sb.method("bocpd"), sb.method("bocpd")
    m.learn_many(None, targets)
    plain.learn_one(None, 1.5)
    assert m.tasks_done == 1 and m.predict_one() == plain.predict_one()
    labels = sb.method("online-logistic", classes=2)
    labels.learn_many([[1.0]] * 4, ["a", pd.NA, np.float32("nan"), None])
    assert labels.tasks_done == 1 and labels.classes == ["a"]


def test_a_method_that_has_seen_nothing_says_so() -> None:
    m = sb.method("bocpd")
    for ask in (m.predict_one, lambda: m.predict_many(2), lambda: m.state):
        with pytest.raises(ValueError):
            ask()
    m.learn_many(None, [])
    assert m.tasks_done == 0 and m.changes.empty
    m.learn_one(None, 1.0)
    for rows in (None, -1):
        with pytest.raises(ValueError, match="number of rows"):
            m.predict_many(rows)


def test_more_tasks_than_it_was_made_for_are_refused() -> None:
    m = sb.method("robust-fpop", tasks=3)
    m.learn_many(None, [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="made for tasks=3, of which 3 are learnt"):
        m.learn_one(None, 1.0)


@pytest.mark.parametrize("how", ["save", "pickle", "copy"])
@pytest.mark.parametrize("name", ["bocpd", "vbs-toy", "page-hinkley-reset"])
def test_a_copy_goes_on_as_the_original(name, how, tmp_path) -> None:
    whole, half = taught(name), sb.method(name)
    half.learn_many(None, LEVELS[:70])
    if how == "save":
        half.save(tmp_path / "half.npz")
        half = sb.method(name).load(tmp_path / "half.npz")
    else:
        half = copy.deepcopy(half) if how == "copy" else pickle.loads(pickle.dumps(half))
    half.learn_many(None, LEVELS[70:])
    assert half.tasks_done == 120 and half.predict_one() == whole.predict_one()
    pd.testing.assert_frame_equal(half.changes, whole.changes)
    for key, array in whole.state.items():
        np.testing.assert_array_equal(half.state[key], array)


def test_names_and_labels_are_saved(tmp_path) -> None:
    m = sb.method("online-logistic", classes=3)
    m.learn_one({"a": 1.0, "b": 0.0}, "up")
    m.save(tmp_path / "m.npz")
    again = sb.method("online-logistic", classes=3).load(tmp_path / "m.npz")
    again.learn_one({"b": 1.0, "a": 0.0}, "down")
    assert again.classes == ["up", "down"] and m.classes == ["up"]
    with pytest.raises(ValueError, match="another number of classes"):
        sb.method("online-logistic", classes=2).load(tmp_path / "m.npz")
    (tmp_path / "half.npz").write_bytes((tmp_path / "m.npz").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"half\.npz is damaged, or not what `save` wrote"):
        m.load(tmp_path / "half.npz")


@pytest.mark.parametrize("name", ["bocpd", "vbs-toy", "cusum", "page-hinkley-reset"])
def test_changes_are_the_alarms_of_the_workflow(name, monkeypatch) -> None:
    """The rule of evaluation/scoring/alarms.py sees all tasks at once."""
    infos = []
    add = RecordedChanges.add

    def noted(self, info):
        infos.append(info)
        add(self, info)

    monkeypatch.setattr("shiftbench.api.steps.BLOCK", 7)
    monkeypatch.setattr(RecordedChanges, "add", noted)
    found = taught(name).changes
    arrays = {k: np.concatenate([one[k] for one in infos], axis=1) for k in infos[0]}
    dims = ("seed", "task", "hypothesis")
    run = xr.Dataset({f"info_{k}": (dims, a) for k, a in arrays.items() if a.ndim == 3})
    probability = shift_probabilities.filtered_within(run, alarms.ROWS.recent)
    expected = alarms.more_probable(probability, np.array([[alarms.HALF]]))[0, 0]
    assert found["seen"].tolist() == np.flatnonzero(expected).tolist() != []
    assert (found["change"] <= found["seen"]).all() and found["probability"].between(0.5, 1).all()


@pytest.mark.parametrize("around", ["run-length", "beam", "forget", "reset", None])
def test_rows_one_by_one_after_one_that_fails_are_those_of_a_block(around) -> None:
    """No state is made between rows, so a failing row must not leave traces."""
    pipeline = [around, "linear-gaussian"] if around else ["linear-gaussian"]
    rows, block = taught(pipeline), taught(pipeline)
    bad = Batch(rows._built.inputs(np.zeros(1)), np.full((1, 1, 1), np.nan), np.ones((1, 1), bool))
    for number, y in enumerate(LEVELS):
        rows.learn_one(None, y)
        if number == 60:
            with pytest.raises(UserError):
                rows._steps.learn_row(bad)
    block.learn_many(None, LEVELS)
    assert rows.tasks_done == block.tasks_done == 2 * len(LEVELS)
    for key, array in block.state.items():
        np.testing.assert_array_equal(rows.state[key], array)


def test_a_change_is_seen_where_it_is() -> None:
    found = taught("bocpd", a0=2.0).changes
    assert {40, 80} <= set(found["change"]) and len(found) <= 4


def test_the_number_of_changes_grows_where_a_change_is_seen() -> None:
    m, seen = sb.method("bocpd", a0=2.0), []
    for task, y in enumerate(LEVELS):
        before = m.n_changes
        m.learn_one(None, y)
        if m.n_changes > before:
            seen.append(task)
    assert seen == m.changes["seen"].tolist() != []


def test_a_method_without_decisions_has_no_changes() -> None:
    m = sb.method("vcl-linear")
    m.learn_one([1.0], 1.0)
    for name in ("changes", "n_changes"):
        with pytest.raises(ValueError, match="takes no decisions about changes"):
            getattr(m, name)


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path) -> None:
    m = sb.method("online-logistic", classes=np.unique([0, 1]))
    m.learn_many([[0.1], [0.2]], [0, 1])
    m.save(tmp_path / "m.npz")
    assert sb.method("online-logistic", classes=[0, 1]).load(tmp_path / "m.npz").tasks_done == 2
    days = sb.method("online-logistic", classes=pd.to_datetime(["2001-01-01", "2001-01-02"]))
    days.learn_one([0.1], pd.Timestamp("2001-01-01"))
    with pytest.raises(ValueError, match="is a Timestamp; to save a method, use texts or numbers"):
        days.save(tmp_path / "m.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]
    assert m.load(tmp_path / "m.npz").classes == [0, 1]
    with pytest.raises(ValueError, match=r"of a method with other classes: \[0, 1\]"):
        sb.method("online-logistic", classes=[1, 0]).load(tmp_path / "m.npz")


def test_whether_a_method_decides_about_changes_is_saved() -> None:
    m = sb.method("vcl-linear")
    m.learn_one([1.0], 1.0)
    with pytest.raises(ValueError, match="takes no decisions about changes"):
        _ = copy.deepcopy(m).n_changes


@pytest.mark.parametrize("many", [False, True])
def test_a_refused_first_row_leaves_nothing_behind(many: bool) -> None:
    m = sb.method("online-logistic", classes=2)
    with pytest.raises(ValueError, match="fill gaps"):
        m.learn_many([[np.nan, 1.0]], ["a"]) if many else m.learn_one([np.nan, 1.0], "a")
    with pytest.raises(ValueError, match="unknown class 'd'"):
        m.learn_many([[1.0], [1.0], [1.0]], ["b", "c", "d"])
    assert m.tasks_done == 0 and m.classes == []
    m.learn_many([[1.0], [2.0]], ["e", "f"])
    assert m.tasks_done == 2 and m.classes == ["e", "f"]


def test_the_prediction_of_no_rows_is_empty() -> None:
    values, labels = sb.method("vcl-linear"), sb.method("online-logistic", classes=2)
    values.learn_one([1.0], 1.0)
    labels.learn_one([1.0], "a")
    none = np.zeros((0, 1))
    assert values.predict_many(none).mean.shape == (0,)
    assert labels.predict_many(none).shape == (0, 1)


def test_numbers_of_numpy_are_settings_and_rows_of_pandas_have_any_index() -> None:
    m = sb.method("bocpd", keep=np.int64(20), hazard=np.float32(0.25), tasks=np.int64(5))
    values = pd.Series([1.0, 2.0, 3.0])
    m.learn_many(None, values[2:])
    assert m.tasks_done == 1 and sb.method("online-logistic", classes=np.int64(2)).classes == []


@pytest.mark.parametrize("column", [pd.date_range("2001-01-01", periods=2), [1j, 2j]])
def test_dates_and_complex_numbers_are_no_inputs(column) -> None:
    frame = pd.DataFrame({"x": column})
    for rows in (frame, frame.to_numpy()):
        with pytest.raises(ValueError, match=r"^inputs are real numbers; convert dates [^;]*$"):
            sb.method("vcl-linear").learn_many(rows, [1.0, 2.0])


def test_a_first_row_without_a_target_is_as_if_it_had_not_come() -> None:
    m = sb.method("vbs-linear")
    m.learn_one({"a": 1.0}, None)
    m.learn_many([[1.0], [2.0]], [None, np.nan])
    m.learn_one({"b": 1.0}, 2.0)
    assert m.tasks_done == 1 and m.feature_names == ("b",)
    several = sb.method("bocpd")
    several.learn_one(None, None)
    several.learn_one(None, [1.0, 2.0])
    assert several.tasks_done == 1


def test_rows_as_mappings_are_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"X is a list of mappings; give pandas\.DataFrame\(X\)"):
        sb.method("vbs-linear").learn_many([{"x": 1.0}, {"x": 2.0}], [1.0, 2.0])


def test_a_place_that_is_no_file_is_refused(tmp_path) -> None:
    m = sb.method("bocpd")
    m.learn_one(None, 1.0)
    with pytest.raises(ValueError, match="gone, which does not exist"):
        m.save(tmp_path / "gone" / "m.npz")
    with pytest.raises(ValueError, match="is a folder; give a file"):
        m.save(tmp_path)


def test_a_method_shows_its_name_and_how_much_it_learnt() -> None:
    m = sb.method("bocpd")
    m.learn_one(None, 1.0)
    assert repr(m) == "<OnlineMethod bocpd, tasks_done=1>"


def test_a_sparse_matrix_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"inputs are sparse; give an array, as X\.toarray\(\)"):
        sb.method("online-logistic").learn_many(sparse.csr_matrix(np.eye(2)), [0, 1])
