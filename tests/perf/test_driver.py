"""The arithmetic of comparisons, and their processes with a fake worker."""

from __future__ import annotations

import numpy as np
import pytest

from perf import driver, table, work
from perf.driver import Comparison, Measured, Seen, Side

FAKE = "perf.ours.jobs:command"


def test_ratio_is_of_pairs() -> None:
    """The ratio of theirs to ours is per pair; that of the medians would be 2."""
    found = driver.ratio([1.0, 2.0, 4.0], [3.0, 4.0, 4.0])
    assert found == (2.0, 1.0, 3.0)
    assert driver.ratio([1.0, 10.0], [2.0, 10.0]).middle == 1.5


def test_ratio_refuses_rounds_without_a_pair() -> None:
    with pytest.raises(ValueError, match="shorter"):
        driver.ratio([1.0, 2.0], [1.0])


def test_what_does_not_count_is_taken_off() -> None:
    calls: list[str] = []
    found = work.a_unit(
        work.Work(lambda: calls.append("all"), 10, lambda: calls.append("less")), waits=False
    )
    assert calls == ["all", "less"]
    assert abs(found.wall) < 1


def test_difference_is_relative_to_the_norm_of_ours() -> None:
    assert driver.difference(np.array([3.0, 4.5]), np.array([3.0, 4.0])) == pytest.approx(0.1)


def test_rows_and_lines_of_the_table() -> None:
    ours, theirs = Side("ours", FAKE), Side("other, fast", FAKE, package="numpy")
    comparison = Comparison("steps", "Sums", "step", ours, (theirs,), limit=ours)
    measured = Measured(
        comparison,
        Seen("ours", "", [1e-3, 2e-3, 2e-3], [2e-3] * 3),
        [Seen("other, fast", "1.2", [3e-3, 3e-3, 3e-3], [1e-3] * 3)],
        Seen("its products", "", [5e-4, 5e-4, 5e-4], [1.0] * 3),
        {"other, fast: sums": 2e-7},
    )
    (row,) = table.rows(measured)
    assert row == (
        "Sums, a step", "2 ms", "3 ms", "other 1.2, fast", "500 us (25%)", "1.50", "1.50 to 3.00",
        "0.50",
    )  # fmt: skip
    about = table.machine((0.5, 0, 0)) | {"processor": "a processor"}
    text = "\n".join(table.lines([measured], about, 3))
    assert f"| {' | '.join(row)} |" in text
    assert "a processor" in text
    assert "load before 0.5" in text
    assert "- Sums; other, fast: sums: 2e-07" in text


def test_ours_alone_has_a_spread_of_its_own() -> None:
    comparison = Comparison("jobs", "Plan", "command", Side("ours", FAKE))
    measured = Measured(comparison, Seen("ours", "", [1.0, 3.0, 2.0], [1.0] * 3), [], None, {})
    assert table.rows(measured) == [
        ("Plan, a command", "2 s", "", "", "", "", "1 s to 3 s", "")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"), [(2.5, "2.5 s"), (1.86e-3, "1.86 ms"), (1.07e-6, "1.07 us"), (5e-8, "50 ns")]
)
def test_costs_have_three_digits(value: float, text: str) -> None:
    assert table.seconds(value) == text


ONLINE = "perf.ours.rows:online"
FEW = {"learner": "oga", "orders": 2, "rows": 20}


@pytest.mark.long
def test_sides_take_turns_in_processes_of_their_own() -> None:
    comparison = Comparison(
        "rows", "Rows", "row", Side("ours", ONLINE, FEW),
        (Side("again", ONLINE, FEW, package="numpy"),), limit=Side("limit", ONLINE, FEW),
    )  # fmt: skip
    found = driver.measure(comparison, 2)
    seen = [found.ours, *found.theirs, found.limit]
    assert [one.label for one in seen] == ["ours", "again", "limit"]
    assert found.theirs[0].version == np.__version__
    assert all(len(one.cpu) == len(one.wall) == 2 and min(one.cpu) > 0 for one in seen)


@pytest.mark.long
def test_a_side_that_fails_is_named() -> None:
    comparison = Comparison("rows", "Rows", "row", Side("ours", ONLINE, {"learner": "none"}))
    with pytest.raises(RuntimeError, match=r"ours \(perf.ours.rows:online\)"):
        driver.measure(comparison, 1)


def test_a_side_that_dies_is_named() -> None:
    comparison = Comparison("rows", "Rows", "row", Side("ours", "os:_exit", {"status": 3}))
    with pytest.raises(RuntimeError, match="its process died"):
        driver.measure(comparison, 1)


def test_another_work_is_refused() -> None:
    class Other:
        side = Side("theirs", ONLINE)

        def __init__(self, values: list[float]) -> None:
            self.values = np.array(values)

        def __call__(self, _: str) -> dict[str, np.ndarray]:
            return {"sums": self.values}

    comparison = Comparison("rows", "Rows", "row", Side("ours", ONLINE))
    ours, near, far = Other([3.0, 4.0]), Other([3.0, 4.001]), Other([3.0, 4.1])
    assert driver._apart(comparison, [ours, near]) == {"theirs: sums": pytest.approx(2e-4)}
    with pytest.raises(RuntimeError, match="not the same work"):
        driver._apart(comparison, [ours, far])
