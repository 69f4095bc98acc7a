"""Estimates scale recorded costs with the work of a run, counted from its spec."""

from __future__ import annotations

import pytest

from shiftbench.forecast import cost_model, records
from shiftbench.forecast.estimate import LEAST_SECONDS, UNKNOWN_RATE, Estimator, factors

IMAGES = {
    "name": "digits",
    "family": "transformed-images",
    "settings": {"dataset": "digits", "tasks": 10, "train_per_task": 60, "test_size": 0},
}
MFVI = {"epochs": 5, "batch_size": 30, "draws": 1, "elbo_draws": 0, "prediction_draws": 1}


def _spec(seeds: int = 1, combinators: tuple = (), source: dict = IMAGES, **changes: int) -> dict:
    return {
        "study": "images",
        "method": "vcl",
        "stream": source,
        "learner": [*combinators, ["mfvi", MFVI | changes]],
        "model": ["mlp", {"hidden": [50]}],
        "seeds": [0, seeds - 1],
        "instructions": "portable",
    }


def _record(cpu: float, spec: dict, processor: str = "here") -> records.Record:
    cost = {"cpu_seconds": cpu, "wall_seconds": cpu, "peak_memory_bytes": 5 * 10**8,
            "processor": processor, "instructions": "portable"}  # fmt: skip
    return records.of_spec(spec, cost)


def test_the_work_of_a_run_is_counted_in_multiplications() -> None:
    width = 64 * 50 + 50 * 10
    steps = 10 * 5 * 2
    assert cost_model.of_run(_spec()) == steps * (cost_model.FIXED + 30 * width)
    assert cost_model.of_run(_spec(seeds=4)) == steps * (cost_model.FIXED + 4 * 30 * width)
    assert cost_model.of_run(_spec(epochs=10)) == 2 * cost_model.of_run(_spec())
    assert cost_model.of_run(_spec(draws=3)) == steps * (cost_model.FIXED + 3 * 30 * width)


def test_hypotheses_cost_side_by_side_less_than_one_by_one() -> None:
    side = cost_model.of_run(_spec(combinators=(["beam", {"size": 3, "fits": "batched"}],)))
    apart = cost_model.of_run(_spec(combinators=(["beam", {"size": 3, "fits": "sequential"}],)))
    assert apart == 6 * cost_model.of_run(_spec())
    assert cost_model.of_run(_spec()) < side < apart


def test_a_convolution_costs_its_filters_at_every_place() -> None:
    sizes = cost_model.Sizes(1, 1, 1, 0, 3072, 10)
    first = 32 * 32 * 9 * (3 * 32 + 32 * 32)
    second = 16 * 16 * 9 * (32 * 64 + 64 * 64)
    dense = 8 * 8 * 64 * 10
    assert (
        cost_model.multiplications(["convnet", {"filters": [32, 64]}], sizes)
        == first + second + dense
    )


def test_weights_drawn_once_a_minibatch_save_products_of_a_convolution_alone() -> None:
    spec = _spec(estimator="sample", draws=2)
    assert cost_model.of_run(spec) == cost_model.of_run(_spec(draws=2))
    spec["model"] = ["convnet", {"filters": [32, 64]}]
    flipout = spec | {"learner": [["mfvi", MFVI | {"estimator": "flipout"}]]}
    products = cost_model.of_run(flipout) - 100 * cost_model.FIXED
    sampled = 100 * cost_model.FIXED + 2 * cost_model.SAMPLED * products
    assert cost_model.of_run(spec) == pytest.approx(sampled)


def test_the_same_run_costs_the_same_again_and_more_seeds_more() -> None:
    known = Estimator([_record(20.0, _spec(seeds=2))], "here")
    again = known.of(_spec(seeds=2))
    assert (again.cpu, again.basis, again.like) == (20.0, "same", "images/digits/vcl")
    more = known.of(_spec(seeds=6))
    ratio = cost_model.of_run(_spec(seeds=6)) / cost_model.of_run(_spec(seeds=2))
    assert more.cpu == pytest.approx(LEAST_SECONDS + (20.0 - LEAST_SECONDS) * ratio)
    assert not more.guess


def test_far_from_all_that_was_recorded_the_rate_of_all_that_is_published_counts() -> None:
    spec = _spec(seeds=100, epochs=10**6, draws=1000)
    neutral = UNKNOWN_RATE * cost_model.of_run(spec)
    for cpu in (2.0, 200.0):
        assert Estimator([_record(cpu, _spec())], "here").of(spec).cpu == pytest.approx(
            neutral, 0.5
        )


def test_a_method_that_never_ran_takes_its_nearest_relative_and_says_so() -> None:
    usual = LEAST_SECONDS + UNKNOWN_RATE * cost_model.of_run(_spec())
    known = Estimator([_record(usual, _spec())], "here")
    beam = known.of(_spec(combinators=(["beam", {"size": 3}],)))
    assert (beam.basis, beam.guess) == ("learner", True)
    counted = cost_model.of_run(_spec(combinators=(["beam", {"size": 3}],)))
    assert beam.cpu == pytest.approx(LEAST_SECONDS + UNKNOWN_RATE * counted)
    assert known.of(_spec(epochs=10)).basis == "pipeline"
    assert Estimator([], "here").of(_spec()).basis == "nothing"


def test_a_machine_that_takes_half_as_long_is_told_by_runs_that_both_did() -> None:
    both = [_record(10.0, _spec(), "there"), _record(20.0, _spec())]
    alone = _record(7.0, _spec(epochs=50), "there")
    assert factors([*both, alone], "here") == {"there, portable": 2.0}
    assert Estimator([*both, alone], "here").of(_spec(epochs=50)).cpu == pytest.approx(
        14.0, rel=0.02
    )


def test_a_table_of_records_is_read_as_it_was_written(tmp_path) -> None:
    place = tmp_path / "studies/images"
    place.mkdir(parents=True)
    known = [_record(20.0, _spec()), _record(2.5, _spec(seeds=3))]
    records.write(place / records.TABLE, known)
    assert records.collect([tmp_path]) == sorted(known)
