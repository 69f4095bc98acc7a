"""Every score of a study in one tidy table, enough for any interval or comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

COLUMNS = ("study", "stream", "learner", "method", "metric", "seed", "score", "status")


def tidy(spec: Mapping[str, Any], scores: xr.DataTree) -> pd.DataFrame:
    """Return one row a stream, learner, metric and seed, in the study's order.

    spec, scores: of `summarise`, and its tree. The column method has the method that the learner
    stands for, or nothing; score is empty for failed seeds, and where the metric does not apply.
    """
    cube = scores["scores"].to_dataset(inherit=False)
    rows = cube[["score", "status"]].to_dataframe(["stream", "learner", "metric", "seed"])
    table = rows.reset_index()
    table = table[table["status"] != ""]  # streams may have different seeds
    method = [spec["methods"].get(name, "") for name in table["learner"]]
    return table.assign(study=spec["study"], method=method)[list(COLUMNS)].reset_index(drop=True)
