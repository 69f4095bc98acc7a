"""The one layout of scores in Python, that of the stores.

A row of a study is a `learner`, since `.sel(method=...)` of xarray means something else.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import components

DIMENSIONS = ("stream", "learner", "metric", "seed")


def of_tree(tree: xr.DataTree) -> xr.Dataset:
    """Return score, score_by_task and status of a study's scores.zarr.zip."""
    scores = tree["scores"]
    assert isinstance(scores, xr.DataTree)
    return _described(scores.to_dataset(inherit=False))


def of_table(table: pd.DataFrame, study: str) -> xr.Dataset:
    """Return score and status of a study's scores.csv; a run that is not there has status ""."""
    order = {name: pd.unique(table[name]).astype(str) for name in DIMENSIONS[:3]}
    order["seed"] = np.sort(table["seed"].unique())
    cube = table.set_index(list(DIMENSIONS))["score"].to_xarray().reindex(order)
    status = table.drop_duplicates(["stream", "learner", "seed"])
    words = status.set_index(["stream", "learner", "seed"])["status"].to_xarray()
    labels = {name: values for name, values in order.items() if name != "metric"}
    filled = words.reindex(labels, fill_value="").fillna("").astype(str)
    return _described(xr.Dataset({"score": cube, "status": filled}, attrs={"study": study}))


def _described(scores: xr.Dataset) -> xr.Dataset:
    """Return scores with the unit of each metric, and whether higher or lower is better."""
    known = components.names("metrics")
    rows = {one: components.metric(one) for one in scores["metric"].values if one in known}
    units = [rows[one].unit if one in rows else "" for one in scores["metric"].values]
    better = [(rows[one].better if one in rows else None) or "" for one in scores["metric"].values]
    return scores.assign_coords(unit=("metric", units), better=("metric", better))
