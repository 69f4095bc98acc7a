"""Contract of metrics and artefacts; the first line of each test is shown to users."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from shiftbench.config import components, digest, user_components
from shiftbench.contract import selection, small_studies
from shiftbench.core.interface import Batch, Categorical, Gaussian, Predictive, StudentT

KIND = "metrics"
"""Kind of component of tests that take only a name."""
CASES = [(kind, name) for kind in ("metrics", "artefacts") for name in selection.names(kind)]
every_one = pytest.mark.parametrize("case", CASES, ids="-".join)


@every_one
def test_it_is_imported_and_has_what_its_kind_needs(case):
    """It can be imported, and has the functions that its kind needs."""
    kind, name = case
    if kind == "metrics":
        assert callable(components.load_metric(name).score)
    module = components.load(*case)
    needed = user_components.functions(*case)
    assert not [name for name in needed if not callable(getattr(module, name, None))]


@every_one
def test_it_never_imports_tensorflow(case):
    """Nothing that it imports needs TensorFlow: it is made in jobs that do not have it."""
    assert not digest.imports(components.module_name(*case), "tensorflow")


@every_one
def test_it_has_a_summary(case):
    """The first line of its docstring is a sentence that says what it is."""
    assert components.summary(*case).endswith(".")


@pytest.mark.parametrize("name", selection.names("metrics"))
def test_the_unit_is_a_text(name):
    """Its unit is a text, such as fraction or nats."""
    assert isinstance(components.metric(name).unit, str)


def example(prediction: str, labels: bool, outputs: int) -> tuple[Predictive, Batch]:
    """Return a prediction of 2 seeds, 3 hypotheses and 5 rows, of which one is masked, with data.

    labels: whether targets are class labels. outputs: the number of real targets in a row.
    """
    rng = np.random.default_rng(0)
    log_weights = np.log(rng.dirichlet(np.ones(3), 2))
    mean, variance = rng.normal(size=(2, 3, 5, outputs)), rng.uniform(0.5, 2, (2, 3, 5, 1))
    variance = np.repeat(variance, outputs, axis=3)
    scale = variance[..., None] * np.eye(outputs)
    made: dict[str, Predictive] = {
        "categorical": Categorical(log_weights, rng.dirichlet(np.ones(4), (2, 3, 5))),
        "gaussian": Gaussian(log_weights, mean, variance),
        "score": Gaussian(log_weights, mean, variance),
        "student-t": StudentT(log_weights, mean, scale, np.full((2, 3), 5.0)),
    }
    classes = 4 if prediction == "categorical" else 2
    targets = rng.integers(0, classes, (2, 5)) if labels else rng.normal(size=(2, 5, outputs))
    mask = np.ones((2, 5), bool)
    mask[:, 3] = False
    return made[prediction], Batch(rng.normal(size=(2, 5, 2)), targets, mask)


def of_predictions(name: str) -> list[tuple[str, str]]:
    """Pair the metric with each type of prediction that it scores; empty for metrics of runs."""
    metric = components.metric(name)
    judged = metric.judges or ("categorical",)
    return [(name, one) for one in judged if metric.stage != "run" and one != "pairs"]


@pytest.mark.parametrize(
    ("name", "prediction"),
    [case for name in selection.names("metrics") for case in of_predictions(name)],
)
def test_a_score_is_a_number_for_each_seed(name, prediction):
    """It scores each prediction that it judges: a real number [seeds] in its bounds, or NaN."""
    metric = components.load_metric(name)
    takes = metric.possible("takes").keys()
    classes = {"classes", "two-classes"}
    labels = prediction == "categorical" or set() < takes <= classes
    given = example(prediction, labels, 2 if "series" in metric.requires else 1)
    copies = deepcopy(given)
    score = metric.score(*given)
    assert isinstance(score, np.ndarray) and score.shape == (2,), "it is not an array of 2 seeds"
    assert score.dtype.kind in "fiu", f"it has the type {score.dtype}"
    low, high = (-np.inf if metric.bounds[0] is None else metric.bounds[0]), metric.bounds[1]
    inside = (score >= low) & (score <= (np.inf if high is None else high))
    assert (inside | np.isnan(score)).all() and not np.isinf(score).any(), f"it is {score}"
    for one, copy in zip([*given[0], *given[1]], [*copies[0], *copies[1]], strict=True):
        assert np.array_equal(one, copy), "what was given has changed"
    assert np.array_equal(metric.score(*given), score, equal_nan=True), "a second call differs"
    batch = given[1]
    batch.inputs[:, 3], batch.targets[:, 3] = 7, 1
    masked = metric.score(*given)
    assert np.array_equal(masked, score, equal_nan=True), "a masked row has an effect"
    batch.targets[1] = batch.targets[1, ::-1]
    assert np.array_equal(metric.score(*given)[0], score[0], equal_nan=True), "seeds mix"


@every_one
def test_a_small_study_has_it(case):
    """In a small study, it is the same each time, and changes and writes nothing else."""
    kind, name = case
    if kind == "metrics" and components.metric(name).stage != "run":
        pytest.skip("scored task by task")
    study = small_studies.planned(kind, name)
    if study is None:
        pytest.skip(f"{selection.UNTRIED}no small study of ours fits it")
    if lacking := small_studies.make(study, kind, name):
        pytest.skip(f"{selection.UNTRIED}it needs {lacking}")
