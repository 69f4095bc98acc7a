"""Splits of rows into training, validation and test: drawn, checked, scaled by, and stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import xarray as xr

from shiftbench.core import seeds
from shiftbench.core.errors import UserError
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


class HoldsOut(Protocol):
    """Settings of a stream that say what is held out of its training rows."""

    @property
    def dataset(self) -> str: ...
    @property
    def validation(self) -> int: ...
    @property
    def judge_on(self) -> str: ...


def stratified(label: np.ndarray, number: int, random: np.random.Generator) -> np.ndarray:
    """Positions of `number` labels drawn at random, of each class in proportion; sorted."""
    order = random.permutation(len(label))
    shuffled = label[order]
    by_class = np.argsort(shuffled, kind="stable")
    counts = np.bincount(shuffled)
    rank = np.empty(len(label))
    rank[by_class] = np.arange(len(label)) - (np.cumsum(counts) - counts)[shuffled[by_class]]
    share = (rank + 0.5) / counts[shuffled]
    return np.sort(order[np.argsort(share, kind="stable")[:number]])


def drawn(target: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Positions of `size` rows, sorted; of classes each in proportion, else any."""
    if target.dtype.kind != "f":
        return stratified(target, size, random)
    return np.sort(random.permutation(len(target))[:size])


def at_random(family: str, target: np.ndarray, share: float, number: int) -> Split:
    """A share of the rows drawn at random for test, of each class in proportion; see `drawn`."""
    random = seeds.generator(seeds.fold(family, "split", number))
    test = drawn(target, round(share * len(target)), random)
    return Split(np.setdiff1d(np.arange(len(target)), test), test)


def with_validation(settings: HoldsOut, split: Split, target: np.ndarray, number: int) -> Parts:
    """A split whose validation rows are drawn from its training rows, by its number alone.

    UserError where no training row would be left, or learners are to be judged on none.
    """
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


def refuse_useless(place: str, parts: Parts, target: np.ndarray) -> None:
    """UserError, with the place, where a part is empty, of one class, or trains on a constant."""
    for name, rows in zip(SPLITS, parts, strict=True):
        here = f"{place}: its {name} part has"
        if not len(rows):
            if name != "validation":
                raise UserError(f"{here} no rows. Change test_share, or take another split.")
        elif target.dtype.kind != "f":
            if len(np.unique(target[rows])) == 1:
                raise UserError(
                    f"{here} rows of one class alone, {target[rows[0]]}, so nothing can be told"
                    " apart. Change test_share or validation, or take another split."
                )
        elif name == "train" and np.ptp(target[rows]) == 0:
            raise UserError(
                f"{here} the constant target {target[rows[0]]:g}, which has no scale and leaves"
                " nothing to learn. Take another data set or split."
            )


def scale(train: np.ndarray, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Origin and factor [feature] of rows [n, feature]; the factor of a constant feature is 0."""
    if scaling == "none":
        return np.zeros(train.shape[1]), np.ones(train.shape[1])
    if scaling == "z-score":
        origin, width = train.mean(axis=0), train.std(axis=0)
    else:
        origin, width = train.min(axis=0), np.ptp(train, axis=0)
    constant = np.ptp(train, axis=0) == 0  # the standard deviation may be 1e-17
    return origin, np.where(constant, 0.0, 1 / np.where(constant, 1.0, width))


def stored(parts: Sequence[Parts], numbers: Sequence[int], size: int) -> xr.Dataset:
    """train_rows, validation_rows and test_rows [realisation, place] of splits of `size` rows.

    UserError where splits have parts of different sizes.
    """
    of_parts = {}
    for name, arrays in zip(SPLITS, zip(*parts, strict=True), strict=True):
        sizes = sorted({len(rows) for rows in arrays})
        if len(sizes) > 1:
            raise UserError(
                f"The splits have {sizes[0]} to {sizes[-1]} {name} rows, but must all have as"
                " many. Take fewer realisations, or other splits."
            )
        text = f"rows of the {name} part, by position"
        rows = np.stack(arrays).astype(np.min_scalar_type(size - 1))
        of_parts[f"{name}_rows"] = (("realisation", name), rows, about(text))
    realisation = ("realisation", list(numbers), about("number of the split"))
    return xr.Dataset(of_parts, coords={"realisation": realisation})
