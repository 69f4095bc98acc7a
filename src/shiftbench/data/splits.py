"""Splits of rows into training, validation and test: draws, checks, and their store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
from shiftbench.core.interface import Task
from shiftbench.data.attributes import about

SPLITS = ("train", "validation", "test")


class Parts(NamedTuple):
    """Positions of the rows of each part; validation may have none."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


class Split(NamedTuple):
    """Positions of the rows of training and test."""

    train: np.ndarray
    test: np.ndarray


class HasSplits(Protocol):
    """The settings of a stream whose realisations are splits."""

    @property
    def dataset(self) -> str: ...
    @property
    def realisations(self) -> int: ...
    @property
    def first_realisation(self) -> int: ...
    @property
    def validation(self) -> int: ...
    @property
    def judge_on(self) -> str: ...


def stratified(label: np.ndarray, number: int, random: np.random.Generator) -> np.ndarray:
    """Draw positions of `number` labels at random, of each class in proportion; sorted."""
    order = random.permutation(len(label))
    shuffled = label[order]
    by_class = np.argsort(shuffled, kind="stable")
    counts = np.bincount(shuffled)
    rank = np.empty(len(label))
    rank[by_class] = np.arange(len(label)) - (np.cumsum(counts) - counts)[shuffled[by_class]]
    share = (rank + 0.5) / counts[shuffled]
    return np.sort(order[np.argsort(share, kind="stable")[:number]])


def drawn(target: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Draw positions of `size` rows, sorted; each class in proportion if the target has classes."""
    if target.dtype.kind != "f":
        return stratified(target, size, random)
    return np.sort(random.permutation(len(target))[:size])


def at_random(family: str, target: np.ndarray, share: float, number: int) -> Split:
    """Draw a share of the rows for test, of each class in proportion; see `drawn`."""
    random = seeds.generator(seeds.fold(family, "split", number))
    test = drawn(target, round(share * len(target)), random)
    return Split(np.setdiff1d(np.arange(len(target)), test), test)


def test_pool(family: str, target: np.ndarray, share: float) -> np.ndarray:
    """Draw the pool of rows from which every split of a table takes its test rows; sorted."""
    random = seeds.generator(seeds.fold(family, "test pool"))
    return drawn(target, round(share * len(target)), random)


def from_pool(
    family: str, target: np.ndarray, share: float, pool: np.ndarray, number: int
) -> Split:
    """Draw a share of all rows for test, as `at_random`, but only from the rows of a pool."""
    random = seeds.generator(seeds.fold(family, "split from pool", number))
    test = pool[drawn(target[pool], round(share * len(target)), random)]
    return Split(np.setdiff1d(np.arange(len(target)), test), test)


def parts(
    settings: HasSplits, split_of: Callable[[int], Split], target: np.ndarray, source: str
) -> dict[int, Parts]:
    """Return the parts of each realisation by its number, with validation rows set apart.

    Parameters
    ----------
    settings : numbers of realisations and of validation rows
    split_of : the split of a number
    target : [row], classes or real values
    source : name of the rows, for messages

    Raises
    ------
    UserError
        if a part is empty or useless, or learners are judged on validation and it is empty
    """
    first = settings.first_realisation
    result = {}
    for number in range(first, first + settings.realisations):
        result[number] = _with_validation(settings, split_of(number), target, number)
        _refuse_useless(f"{source}, split {number}", result[number], target)
    return result


def judged(store: xr.Dataset, task: Task) -> Task:
    """Return the task with its validation data as test data, if the store judges on these."""
    if store.attrs["judge_on"] == "validation":
        return task._replace(validation=None, test=task.validation)
    return task


def _with_validation(settings: HasSplits, split: Split, target: np.ndarray, number: int) -> Parts:
    """Draw validation rows from the training rows, by the number of the split alone."""
    if settings.judge_on == "validation" and not settings.validation:
        raise UserError(
            f"Stream of {settings.dataset}: judge_on is validation, but no rows are set apart for"
            " it. Set validation to their number."
        )
    if settings.validation >= len(split.train):
        raise UserError(
            f"Stream of {settings.dataset}: validation is {settings.validation}, but there are"
            f" {len(split.train)} training rows. Lower validation."
        )
    random = seeds.generator(seeds.fold("splits", "validation", settings.dataset, number))
    chosen = drawn(target[split.train], settings.validation, random)
    return Parts(np.delete(split.train, chosen), split.train[chosen], split.test)


def _refuse_useless(source: str, parts: Parts, target: np.ndarray) -> None:
    """Raise UserError if a part is empty or of one class, or training has a constant target."""
    for name, rows in zip(SPLITS, parts, strict=True):
        here = f"{source}: its {name} part has"
        if not len(rows):
            if name != "validation":
                raise UserError(f"{here} no rows. Change test_share, or take another split.")
        elif target.dtype.kind != "f":
            if len(np.unique(target[rows])) == 1:
                raise UserError(
                    f"{here} rows of one class only, {target[rows[0]]}, so there is nothing to"
                    " distinguish. Change test_share or validation, or take another split."
                )
        elif name == "train" and np.ptp(target[rows]) == 0:
            raise UserError(
                f"{here} the constant target {target[rows[0]]:g}, which has no scale and leaves"
                " nothing to learn. Take another data set or split."
            )


def stored(parts: Mapping[int, Parts], size: int) -> xr.Dataset:
    """Return train_rows, validation_rows and test_rows [realisation, place] of `size` rows.

    parts: by number of the realisation. UserError if splits have parts of different sizes.
    """
    of_parts = {}
    for name, arrays in zip(SPLITS, zip(*parts.values(), strict=True), strict=True):
        sizes = sorted({len(rows) for rows in arrays})
        if len(sizes) > 1:
            raise UserError(
                f"The splits have {sizes[0]} to {sizes[-1]} {name} rows, but must all have as"
                " many. Take fewer realisations, or other splits."
            )
        text = f"rows of the {name} part, by position"
        rows = np.stack(arrays).astype(np.min_scalar_type(size - 1))
        of_parts[f"{name}_rows"] = (("realisation", name), rows, about(text))
    realisation = ("realisation", list(parts), about("number of the split"))
    return xr.Dataset(of_parts, coords={"realisation": realisation})
