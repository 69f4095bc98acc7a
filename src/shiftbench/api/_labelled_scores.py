"""Scores as an xarray Dataset, in the layout of the stores.

A row of a study is a `learner`, since `.sel(method=...)` of xarray means something else.
"""

from __future__ import annotations

from itertools import product

import pandas as pd
import xarray as xr

from shiftbench.config import components
from shiftbench.evaluation.scoring import statistics, tidy_files

DIMENSIONS = tidy_files.DIMENSIONS


def of_tree(tree: xr.DataTree) -> xr.Dataset:
    """Return score, score_by_task and status of a study's cube, or source data."""
    scores = tree["scores"]
    assert isinstance(scores, xr.DataTree)
    return _described(scores.to_dataset(inherit=False))


def of_table(table: pd.DataFrame, study: str) -> xr.Dataset:
    """Return score and status from a study's scores.csv; missing runs have the status ""."""
    return _described(tidy_files.cube(table).assign_attrs(study=study))


def intervals(scores: xr.Dataset) -> pd.DataFrame:
    """Return mean, sd, 95 % interval and number of seeds for each stream, learner and metric."""
    by_seed = scores["score"].transpose(*DIMENSIONS)
    names = by_seed.dims[:-1]
    axes = [by_seed[one].values.tolist() for one in names]
    rows = [
        (*labels, *statistics.interval(of_seeds, _bounds(labels[-1])))
        for labels, of_seeds in zip(
            product(*axes), by_seed.values.reshape(-1, by_seed.sizes["seed"]), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=[*names, *statistics.Interval._fields])


def _bounds(metric: str) -> statistics.Bounds:
    """Return the bounds of a metric; none of one that a user's own component defined elsewhere."""
    known = metric in components.names("metrics")
    return statistics.bounds(metric) if known else statistics.UNBOUNDED


def _described(scores: xr.Dataset) -> xr.Dataset:
    """Return scores with the unit of each metric, and whether higher or lower is better."""
    known = components.names("metrics")
    rows = {one: components.metric(one) for one in scores["metric"].values if one in known}
    units = [rows[one].unit if one in rows else "" for one in scores["metric"].values]
    better = [(rows[one].better if one in rows else None) or "" for one in scores["metric"].values]
    return scores.assign_coords(unit=("metric", units), better=("metric", better))
