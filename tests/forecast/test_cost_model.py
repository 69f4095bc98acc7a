"""The cost of a run, from declarations of components and the table of data sets."""

from __future__ import annotations

import dataclasses

import pytest

from shiftbench.config import components
from shiftbench.data.store import raw
from shiftbench.forecast import cost_model

PROBLEM = cost_model.Sizes(tasks=10, rows=60, tests=0, before=0, inputs=64, outputs=10)
WITH_WORK = [
    name
    for name in components.names("combinators")
    if components.defines("combinators", name, "work")
]


def test_combinators_that_repeat_what_is_inside_say_so() -> None:
    assert set(WITH_WORK) >= {"beam", "run-length", "ensemble", "joint"}


@pytest.mark.parametrize("name", WITH_WORK)
def test_work_of_a_combinator_is_that_of_a_larger_problem(name: str) -> None:
    settings = dataclasses.asdict(components.settings("combinators", name)())
    function = components.work("combinators", name)
    assert function
    inside = function(settings, PROBLEM)
    assert isinstance(inside, cost_model.Sizes)
    assert all(new >= old for new, old in zip(inside, PROBLEM, strict=True)) and inside != PROBLEM


def test_learners_in_turn_multiply_the_steps_and_not_the_width() -> None:
    work = components.work("combinators", "beam")
    assert work
    batched, in_turn = (
        work({"size": 3, "fits": fits}, PROBLEM) for fits in ("batched", "sequential")
    )
    assert (batched.at_once, batched.in_turn) == (6, 1)
    assert (in_turn.at_once, in_turn.in_turn) == (1, 6)


def test_sizes_of_a_data_set_are_numbers_or_settings() -> None:
    for name, dataset in raw.table().items():
        assert len(dataset.sizes) in (0, 3), name
    source = {"family": "tabular", "settings": {"dataset": "simulated-regression"}}
    source["settings"] |= {"simulated_rows": 70, "simulated_features": 4}
    assert cost_model.of_stream(source)[:2] == (70, 1)
    assert cost_model.of_stream(source).inputs == 4


def words(size: int, dimension: int) -> cost_model.Spec:
    settings = {"vocabulary_size": size, "first_year": 1900, "last_year": 2000}
    return {
        "learner": [["per-word", {"dimension": dimension}], ["skipgram", {}]],
        "stream": {"family": "n-grams", "settings": settings},
        "model": None,
        "seeds": [0, 0],
    }


def test_words_cost_by_their_number_their_contexts_and_the_length_of_vectors() -> None:
    small = cost_model.of_run(words(10_000, 20))
    assert cost_model.of_run(words(5_000, 20)) == pytest.approx(small / 2, rel=0.01)
    assert cost_model.of_run(words(30_000, 20)) == pytest.approx(9 * small, rel=0.01)
    assert cost_model.of_run(words(10_000, 100)) == pytest.approx(9.5 * small, rel=0.01)
