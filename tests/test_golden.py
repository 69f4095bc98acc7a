"""Each machine gives the committed bytes, or says where it differs from them."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.core import instructions
from tests import golden

GOLDEN = golden.read()
QUICK = ("learners/", "combinators/beam")
ROUNDING = 1e-3
"""Relative tolerance of block means where instructions are not portable: 1e-5 was seen."""
ROUNDED = {"learners/bong": 1e-12, "settings/bong-diagonal": 1e-12, "settings/bong-full": 1e-12}
"""Tolerances of runs that are not equal on all processors. The graph optimiser turns the
quotient by a root in `extended_kalman` into an inverse root, which processors approximate.
"""


def test_every_run_has_golden_bytes() -> None:
    assert GOLDEN.keys() == golden.RUNS.keys(), "python -m tests.golden, and commit golden.json"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.startswith(QUICK) else pytest.mark.long)
        for name in golden.RUNS
    ],
)
def test_a_run_gives_the_golden_bytes(name: str) -> None:
    portable = instructions.in_force() == "portable"
    within = ROUNDED.get(name, 0.0) if portable else ROUNDING
    said = golden.difference(GOLDEN[name], golden.arrays(name), within)
    assert not said, f"{name}: {said}\n{golden.remedy()}"


@pytest.fixture(scope="module")
def run() -> tuple[golden.Golden, dict[str, np.ndarray]]:
    found = golden.arrays("learners/sva")
    return {name: golden.summary(array) for name, array in found.items()}, found


def flipped(array: np.ndarray) -> np.ndarray:
    """Return the array with the last bit of its first number flipped."""
    bits = array.copy().view(np.uint64)
    bits.flat[0] ^= 1
    return bits.view(array.dtype)


def test_the_first_array_in_time_is_named_that_has_one_bit_flipped(run) -> None:
    known, found = run
    assert golden.difference(known, found) == ""
    for name in ("last state, mean", "task 1, info loss", "task 1, predicted variance"):
        found = found | {name: flipped(found[name])}
        assert golden.difference(known, found).startswith((f"{name}: bytes", f"{name}: block"))


def test_it_is_said_how_far_apart_numbers_are(run) -> None:
    known, found = run
    twice = found | {"last state, mean": 2 * found["last state, mean"]}
    assert golden.difference(known, twice).endswith("by up to 1.0e+00 of the largest")
    near = found | {"last state, mean": (1 + 1e-5) * found["last state, mean"]}
    assert "1.0e-05" in golden.difference(known, near)
    assert golden.difference(known, near, ROUNDING) == ""
    assert "last state, mean" in golden.difference(known, twice, ROUNDING)


def test_other_arrays_types_and_shapes_are_named(run) -> None:
    known, found = run
    fewer = {name: array for name, array in found.items() if name != "last state, sd"}
    assert golden.difference(known, fewer) == "other arrays than before: last state, sd"
    single = found | {"last state, sd": found["last state, sd"].astype(np.float32)}
    assert "last state, sd: float32 [2, 1, 16], was float64" in golden.difference(known, single)


def test_the_remedy_names_the_command_and_the_machine() -> None:
    said = golden.remedy()
    assert "python -m tests.golden" in said and instructions.processor() in said
    assert f"numpy {np.__version__}" in said and instructions.in_force() in said
