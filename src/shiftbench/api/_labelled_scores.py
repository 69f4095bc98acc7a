"""Scores as an xarray Dataset, in the layout of the stores.

A row of a study is a `learner`, since `.sel(method=...)` of xarray means something else.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import components
from shiftbench.evaluation.scoring import ranking, statistics, tidy_files
from shiftbench.evaluation.scoring.ranking import Scale

DIMENSIONS = tidy_files.DIMENSIONS
OF_METRICS = ("unit", "better", "lowest", "highest")
"""Coordinates that describe the metrics, which the library need not know: users have their own."""
UNKNOWN = Scale(None, "", statistics.UNBOUNDED)


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
    within = scales(scores)
    rows = [
        (*labels, *statistics.interval(of_seeds, within[labels[-1]].bounds))
        for labels, of_seeds in zip(
            product(*axes), by_seed.values.reshape(-1, by_seed.sizes["seed"]), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=[*names, *statistics.Interval._fields])


def scales(scores: xr.Dataset) -> dict[str, Scale]:
    """Return the scale of each metric, as the coordinates say, else as the library does.

    A metric that neither knows has no direction.
    """
    names = np.atleast_1d(scores["metric"].values).tolist()
    if any(key not in scores.coords for key in OF_METRICS):
        return dict(zip(names, map(_of_library, names), strict=True))
    columns = (np.atleast_1d(scores[key].values).tolist() for key in OF_METRICS)
    return {
        name: Scale(
            {"higher": True, "lower": False}.get(better),
            unit,
            (None if lowest == -np.inf else lowest, None if highest == np.inf else highest),
        )
        for name, unit, better, lowest, highest in zip(names, *columns, strict=True)
    }


def _of_library(metric: str) -> Scale:
    return ranking.scale(metric) if metric in components.names("metrics") else UNKNOWN


def _described(scores: xr.Dataset) -> xr.Dataset:
    """Return scores with unit, better direction, lowest and highest score of each metric."""
    known = list(map(_of_library, scores["metric"].values.tolist()))
    words = {None: "", True: "higher", False: "lower"}
    lowest, highest = zip(*(one.bounds for one in known), strict=True)
    columns = {
        "unit": [one.unit for one in known],
        "better": [words[one.higher_is_better] for one in known],
        "lowest": [-np.inf if one is None else float(one) for one in lowest],
        "highest": [np.inf if one is None else float(one) for one in highest],
    }
    return scores.assign_coords({key: ("metric", values) for key, values in columns.items()})
