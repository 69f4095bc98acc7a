"""Requested resources are close to recorded ones, and within the declared limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.config.schema import Resources
from shiftbench.forecast.estimate import Estimate
from shiftbench.forecast.resource_requests import Asked, near

SAID = Resources(1, 600, 8000)
SPEC: dict = {}


def _cost(wall: float, megabytes: int, basis: str = "same") -> Estimate:
    return Estimate(wall, wall, megabytes * 2**20, basis, "")


@pytest.mark.parametrize(
    ("cost", "wanted"),
    [
        (_cost(3600, 2000), [120, 3000]),
        (_cost(1, 300), [10, 1000]),
        (_cost(10**6, 10**5), [600, 8000]),
        (_cost(3600, 2000, "pipeline"), [600, 8000]),
        (None, [600, 8000]),
    ],
)
def test_a_margin_above_what_runs_of_the_same_settings_took(cost, wanted) -> None:
    assert near(cost, SAID) == wanted


class _Known:
    def of(self, _: object) -> Estimate:
        return _cost(3600, 2000)


def test_a_second_attempt_has_what_is_said_and_then_more_memory(tmp_path: Path) -> None:
    asked = Asked(_Known, tmp_path)  # type: ignore[arg-type]
    assert [asked.minutes("a", SPEC, SAID, attempt) for attempt in (1, 2, 3)] == [120, 600, 600]
    memory = [asked.memory_mb("a", SPEC, SAID, attempt) for attempt in (1, 2, 3)]
    assert memory == [3000, 8000, 16000]


def test_jobs_ask_for_what_the_planning_process_asked_for(tmp_path: Path) -> None:
    planning = Asked(_Known, tmp_path)  # type: ignore[arg-type]
    planning.minutes("a", SPEC, SAID, 1)
    planning.keep()
    job = Asked(None, tmp_path)
    assert job.minutes("a", SPEC, SAID, 1) == 120
    assert job.minutes("another", SPEC, SAID, 1) == 600
