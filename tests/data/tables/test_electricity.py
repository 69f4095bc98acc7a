"""Elec2: the target against its definition, row by row, and metrics by hand."""

from __future__ import annotations

import lzma
import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components
from shiftbench.core import log_odds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Batch, Gaussian
from shiftbench.data.tables import electricity
from shiftbench.data.tables.electricity import LEFT_OUT, NUMBERS, Settings

mean_cumulative_share_error = components.load_metric("mean_cumulative_share_error")
share_error = components.load_metric("share_error")

SIZE = LEFT_OUT + 30


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> tuple[Path, np.ndarray]:
    """Return a folder with a file in the real format, and its numbers [row, column]."""
    folder = tmp_path_factory.mktemp("elec2")
    random = np.random.default_rng(1)
    numbers = random.random((SIZE, len(NUMBERS))).round(2)  # so that some prices are equal
    numbers[-1, NUMBERS.index("nswprice")] = -1
    lines = [
        ",".join(map(str, [row[1], 1 + number // 48 % 7, row[0], *row[2:], "UP"]))
        for number, row in enumerate(numbers.tolist())
    ]
    names = '"date","day","period","nswprice","nswdemand","vicprice","vicdemand","transfer","class"'
    with lzma.open(folder / electricity.FILE, "wt") as file:
        file.write("\n".join([names, *lines]) + "\n")
    return folder, numbers


def test_the_target_is_the_share_of_the_day_before_that_was_cheaper(table) -> None:
    folder, numbers = table
    store = electricity.build(Settings(), folder)
    assert electricity.problem(store).n_tasks == 30
    price = numbers[:, NUMBERS.index("nswprice")]
    for t in range(30):
        row = LEFT_OUT + t
        below = sum(price[row - step] < price[row] for step in range(1, 49)) / 48
        wanted = 4 if below == 1 else -4 if below == 0 else math.log(below / (1 - below))
        task = electricity.task(store, [0], t)
        assert task.train.targets.ravel().tolist() == pytest.approx([wanted])
        weekday = [float(number == row // 48 % 7) for number in range(7)]
        assert task.train.inputs.ravel().tolist() == [*weekday, *numbers[row]]
    assert task.train.targets.item() == -4  # the last half-hour is the cheapest


def test_the_first_rows_alone(table) -> None:
    assert electricity.build(Settings(rows=7), table[0]).sizes["task"] == 7


def test_more_rows_than_there_are_is_an_error(table) -> None:
    assert electricity.build(Settings(rows=30), table[0]).sizes["task"] == 30
    with pytest.raises(UserError, match="rows is 31, but elec2 has 30 after the first"):
        electricity.build(Settings(rows=31), table[0])


def test_log_odds_of_shares_and_back() -> None:
    share = np.arange(49) / 48
    result = log_odds.of_share(share)
    assert result[[0, 24, -1]].tolist() == [-4, 0, 4]
    assert log_odds.share(result) == pytest.approx(share, abs=1e-15)


def test_the_error_is_that_of_the_most_likely_hypothesis_on_the_scale_of_the_share() -> None:
    mean = np.array([[[0.0], [2.0]]])[..., None]
    weights = np.log([[0.4, 0.6]])
    batch = Batch(np.zeros((1, 1, 1)), np.full((1, 1, 1), 4.0), np.ones((1, 1), bool))
    result = share_error.score(Gaussian(weights, mean, np.ones_like(mean)), batch)
    assert result.tolist() == pytest.approx([1 - 1 / (1 + math.exp(-2))])


def test_the_cumulative_error_is_the_mean_of_means_without_the_first_task() -> None:
    errors = np.array([[0.9, 0.2, 0.4, 0.6]])
    run = xr.Dataset(
        {"score": (("metric", "seed", "task"), errors[None])}, coords={"metric": ["share_error"]}
    )
    wanted = np.mean([0.2, 0.3, 0.4])
    assert mean_cumulative_share_error.score(run, None).tolist() == pytest.approx([wanted])
