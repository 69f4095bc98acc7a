"""Every method of the library gives the same bytes from Python as from the harness."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from shiftbench.api import learners
from shiftbench.api.definition import Definition, defined
from shiftbench.api.learners import Form
from shiftbench.api.prediction import Prediction
from shiftbench.config import components
from shiftbench.config.library import OURS, Library
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import one_component
from shiftbench.core.errors import UserError
from tests.api import runs

QUICK = {"epochs": 2, "elbo_draws": 2, "batch_size": 4, "pretraining_epochs": 1}
"""Settings that make methods fast, for methods that have them."""
FORMS = {
    "number": Form((3,), 1, False, 1),
    "two-classes": Form((3,), 2, True, 1),
    "classes": Form((3,), 3, True, 1),
    "value": Form((), 1, False, 1),
    "design": Form((), 1, False, 1),
    "tasks of classes": Form((3,), 3, True, runs.TASK),
    "tasks of numbers": Form((3,), 1, False, runs.TASK),
}
MODEL = {"mlp": {"hidden": [3]}}


@functools.cache
def quick(name: str) -> Definition | None:
    """Return a method with fast settings, or None if it cannot learn rows."""
    items = Library(OURS).methods[name].data["pipeline"]
    known = {
        f"{component}.{key}": QUICK[key]
        for kind, (component, _) in by_kind([one_component(item) for item in items])
        for key in QUICK.keys() & components.fields(kind, component).keys()
    }
    trains = components.facts("learners", one_component(items[-1])[0]).model
    try:
        return defined(name, {}, known, MODEL if trains else None)
    except UserError:
        return None


NETWORKS = {
    "vbs-learnt", "vd-ekf", "ewc", "er", "bocpd-kronecker", "vcl-coreset-random",
}  # fmt: skip
"""The tested methods with a network, one per kind of pipeline, since tracing is slow."""
SLOW = "robust-linear-regression-exact"
"""A method without a network that nevertheless imports TensorFlow."""


def cases(networks: bool) -> list[tuple[str, str]]:
    """Return methods with the kinds of rows that they fit."""
    found = []
    for name, method in Library(OURS).methods.items():
        if method.get("pipeline") is None or (definition := quick(name)) is None:
            continue
        if name == SLOW or definition.trains_network != networks:
            continue
        if networks and name not in NETWORKS:
            continue
        kinds = ["tasks of classes"] if networks else [one for one in FORMS if "tasks" not in one]
        found += [(name, kind) for kind in kinds if fits(definition, kind)]
    return found


def fits(definition: Definition, kind: str) -> bool:
    word = {"tasks of classes": "classes", "tasks of numbers": "number"}.get(kind, kind)
    of_rows = learners._fitted(definition, word, FORMS[kind])
    if kind == "design":  # rows without inputs are values if a method takes those
        return of_rows.misfit is None and not fits(definition, "value")
    return of_rows.misfit is None


@pytest.fixture(scope="module")
def streams(tmp_path_factory) -> dict[str, runs.Stream]:
    return runs.streams(tmp_path_factory.mktemp("streams"))


def compare(name: str, stream: runs.Stream) -> None:
    definition = quick(name)
    expected = runs.of_harness(definition, stream)
    method = runs.of_library(definition, stream)
    predicted = runs.learnt(method, stream)
    same(method.state, expected.state)
    scores = expected.records[f"score/{stream.metric}"][0]
    for t, prediction in enumerate(predicted[1:], start=1):
        rows = slice(t * stream.rows, (t + 1) * stream.rows)
        assert error(prediction, stream.y[rows]) == pytest.approx(scores[t], rel=1e-6, abs=1e-9)
    if stream.rows == 1:
        many = runs.of_library(definition, stream)
        many.learn_many(stream.x, stream.y)
        same(many.state, expected.state)
        if "info/log_weight" in expected.records and many._recorded.can_tell:
            assert many.changes.equals(method.changes)


def same(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> None:
    assert one.keys() == two.keys()
    for name, array in one.items():
        assert array.dtype == two[name].dtype
        np.testing.assert_array_equal(array, two[name], err_msg=name)


def error(prediction, y: np.ndarray) -> float:
    """Return the mean absolute error of a prediction, or the share of misclassified rows."""
    if isinstance(prediction, dict):
        return float(max(prediction, key=prediction.get) != y[0])
    if isinstance(prediction, Prediction):
        if y.dtype.kind == "i":  # the score of two classes
            return float(np.mean((np.atleast_1d(prediction.mean) > 0) != y))
        return float(np.abs(prediction.mean - y).mean())
    return float((prediction.argmax(axis=1) != y).mean())


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), cases(networks=False))
def test_rows_give_what_the_harness_gives(name, kind, streams) -> None:
    compare(name, streams[kind])


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), cases(networks=True))
def test_tasks_of_networks_give_what_the_harness_gives(name, kind, streams) -> None:
    compare(name, streams[kind])


@pytest.mark.long
def test_a_method_that_imports_tensorflow_gives_what_the_harness_gives(streams) -> None:
    compare(SLOW, streams["design"])


def test_most_methods_without_a_network_are_tried() -> None:
    """All are, except those of word counts and those that need a warm-up or a plane."""
    assert len({name for name, _ in cases(networks=False)}) >= 70
