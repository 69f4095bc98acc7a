"""The message about a malformed prediction names the component and the expected value."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.core.interface import Categorical, Gaussian, Learner, Problem, StudentT
from shiftbench.core.prediction_checks import checked, fault, flaw, usable

S, H, N, D, C = 4, 3, 5, 2, 6
INPUTS = np.zeros((S, N, 7))
CLASSES = Problem("classification", (7,), C, N, 1)
VALUES = Problem("regression", (7,), D, N, 1)
PAIRS = Problem("counts", (7,), 9, N, 1)
WORD = Problem("word", (7,), 9, N, 1)

W = np.zeros((S, H))
ROWS = np.ones((S, H, N))
OUT = np.ones((S, H, N, D))
GAUSSIAN = Gaussian(W, OUT, OUT)
STUDENT = StudentT(W, OUT, np.ones((S, H, N, D, D)), W)
LABELS = Categorical(W, np.ones((S, H, N, C)))
TWO = Categorical(W, np.ones((S, H, N, 2)))
SCORE = Gaussian(W, OUT[..., :1], OUT[..., :1])


@pytest.mark.parametrize(
    ("problem", "prediction"),
    [
        (VALUES, GAUSSIAN),
        (VALUES, STUDENT),
        (CLASSES, LABELS),
        (CLASSES, LABELS._replace(entropy=ROWS)),
        (CLASSES, LABELS._replace(probabilities=LABELS.probabilities.astype(np.float32))),
        (CLASSES, LABELS._replace(probabilities=LABELS.probabilities.astype(int))),
        (CLASSES, SCORE),
        (PAIRS, TWO),
        (WORD, TWO),
    ],
)
def test_predictions_of_the_interface_pass(problem, prediction) -> None:
    assert fault(prediction, INPUTS, problem) == fault(prediction, INPUTS, problem, H) == ""


@pytest.mark.parametrize("prediction", [GAUSSIAN, STUDENT, LABELS._replace(entropy=ROWS)])
def test_a_task_without_rows_is_predicted(prediction) -> None:
    problem = CLASSES if isinstance(prediction, Categorical) else VALUES
    empty = [a if a.ndim == 2 else a[:, :, :0] for a in prediction]
    assert fault(type(prediction)(*empty), INPUTS[:, :0], problem) == ""


WRONG = {
    "an array": (VALUES, OUT, "predicts a ndarray, expected a Gaussian or StudentT"),
    "nothing": (WORD, None, "predicts a NoneType, expected a Categorical"),
    "classes of values": (VALUES, LABELS, "predicts a Categorical, expected a Gaussian or"),
    "no hypothesis axis": (
        VALUES, GAUSSIAN._replace(mean=OUT[:, 0]),
        "predicts a Gaussian whose mean has the shape (4, 5, 2), expected (4, 3, 5, 2): "
        "[seed 4, hypothesis 3, row 5, output 2]",
    ),
    "one variance for all": (
        VALUES, GAUSSIAN._replace(variance=OUT[:, :, :1]), "variance has the shape (4, 3, 1, 2)",
    ),
    "diagonal scale": (VALUES, STUDENT._replace(scale=OUT), "scale has the shape (4, 3, 5, 2)"),
    "one df": (VALUES, STUDENT._replace(df=W[0]), "df has the shape (3,), expected (4, 3)"),
    "other rows": (
        CLASSES, LABELS._replace(probabilities=LABELS.probabilities[:, :, 1:]),
        "probabilities has the shape (4, 3, 4, 6), expected (4, 3, 5, 6): "
        "[seed 4, hypothesis 3, row 5, class 6]",
    ),
    "no classes": (CLASSES, TWO._replace(probabilities=OUT[..., :0]), "the shape (4, 3, 5, 0)"),
    "entropy of classes": (
        CLASSES, LABELS._replace(entropy=LABELS.probabilities), "entropy has the shape",
    ),
    "score of two outputs": (CLASSES, GAUSSIAN, "mean has the shape (4, 3, 5, 2), expected"),
    "flat weights": (
        VALUES, GAUSSIAN._replace(log_weights=W[0]), "log_weights has the shape (3,), expected",
    ),
    "other seeds": (VALUES, GAUSSIAN._replace(log_weights=W[1:]), "log_weights has the shape"),
    "no hypotheses": (
        VALUES, Gaussian(W[:, :0], OUT[:, :0], OUT[:, :0]),
        "log_weights has the shape (4, 0), expected (4, 1): [seed 4, hypothesis 1]",
    ),
    "complex": (
        VALUES, GAUSSIAN._replace(mean=OUT + 0j), "mean has the type complex128, expected real",
    ),
    "objects": (VALUES, GAUSSIAN._replace(mean=OUT.astype(object)), "mean has the type object"),
    "a list": (VALUES, GAUSSIAN._replace(mean=OUT.tolist()), "mean is a list, expected a NumPy"),
    "no weights": (VALUES, GAUSSIAN._replace(log_weights=None), "log_weights is a NoneType"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_the_message_names_the_fault_and_what_is_expected(case) -> None:
    problem, prediction, words = WRONG[case]
    assert words in fault(prediction, INPUTS, problem)


def _predicting(prediction, broaden=None) -> Learner:
    return Learner(lambda seeds: {}, lambda *_: prediction, lambda *_: ({}, {}), broaden=broaden)


def test_a_learner_that_is_broadened_predicts_all_its_hypotheses() -> None:
    state, single = {"x": W}, Gaussian(W[:, :1], OUT[:, :1], OUT[:, :1])
    fixed = checked(_predicting(single), VALUES, "learner one")
    assert fixed.predict(state, INPUTS, W) is single
    stacked = checked(_predicting(single, lambda state, _: state), VALUES, "learner one")
    with pytest.raises(UserError, match=r"^learner one: .* shape \(4, 1\), expected \(4, 3\)"):
        stacked.predict(state, INPUTS, W)


def categorical() -> Categorical:
    return Categorical(np.full((S, H), -np.log(H)), np.full((S, H, N, C), 1 / C), 0 * ROWS)


def gaussian() -> Gaussian:
    return Gaussian(np.full((S, H), -np.log(H)), OUT.copy(), OUT.copy())


def student() -> StudentT:
    scale = np.broadcast_to(np.eye(D), (S, H, N, D, D)).copy()
    return StudentT(np.full((S, H), -np.log(H)), OUT.copy(), scale, np.ones((S, H)))


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (categorical, "probabilities", np.nan),
        (categorical, "probabilities", -0.1),
        (categorical, "probabilities", 0.3),
        (categorical, "entropy", np.inf),
        (categorical, "log_weights", 0.0),
        (gaussian, "mean", np.nan),
        (gaussian, "variance", -1e-9),
        (student, "scale", -1.0),
        (student, "df", 0.0),
    ],
)
def test_one_wrong_number_makes_its_seed_unusable_and_no_other(make, name, value):
    predictive = make()
    getattr(predictive, name)[1].flat[0] = value
    assert usable(predictive).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("make", "name", "value", "words"),
    [
        (categorical, "probabilities", np.nan, "the Categorical has nan in its probabilities"),
        (categorical, "probabilities", -0.1, "has -0.1 in its probabilities, below 0"),
        (categorical, "probabilities", 0.5, "has probabilities with the sum 1.33333, expected 1"),
        (categorical, "entropy", np.inf, "the Categorical has inf in its entropy"),
        (
            categorical,
            "log_weights",
            0.0,
            "log_weights whose exponentials have the sum 1.66667, expected 1",
        ),
        (
            gaussian,
            "log_weights",
            np.nan,
            "log_weights whose exponentials have the sum nan, expected 1",
        ),
        (gaussian, "mean", np.nan, "the Gaussian has nan in its mean"),
        (gaussian, "variance", -0.5, "has -0.5 in its variance, which must be above 0"),
        (gaussian, "variance", 0.0, "has 0 in its variance, which must be above 0"),
        (student, "scale", -1.0, "has -1 in its scale, which must be above 0"),
        (student, "df", 0.0, "has 0 in its df, which must be above 0"),
    ],
)
def test_the_flaw_of_a_prediction_is_named(make, name, value, words):
    predictive = make()
    getattr(predictive, name)[1].flat[0] = value
    assert words in flaw(predictive, 1)
    assert flaw(predictive, 0) == ""


def test_a_hypothesis_of_weight_0_and_a_point_prediction_are_usable():
    predictive = gaussian()
    predictive.log_weights[:] = [0.0, -np.inf, -np.inf]
    predictive.variance[:] = 0.0
    assert usable(predictive).all()
