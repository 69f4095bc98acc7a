"""Leads of methods over detectors that do not look, from the published detection-table."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd

from shiftbench.core.errors import UserError
from shiftbench.evaluation.artefacts import detection_table
from shiftbench.evaluation.scoring.ranking import PairedLead
from shiftbench.evaluation.scoring.statistics import Interval


def leads(
    study: Path, metric: str, streams: str, methods: str
) -> dict[tuple[str, str], PairedLead]:
    """Return the leads over the best clock, by stream and method.

    study: its folder. streams, methods: patterns of names. The mean over all streams is
    included only if `streams` is its name, `all streams`. UserError if the table has no such rows.
    """
    path, key = study / "tables" / "detection-table.csv", f"{metric}{detection_table.OVER}"
    table = pd.read_csv(path, keep_default_na=False, na_values=[""]) if path.exists() else None
    if table is None or key not in table:
        raise UserError(f"{path} has no comparison of {metric} with a clock")
    together = streams == detection_table.ALL
    found = {
        (row["stream"], row["learner"]): PairedLead(
            Interval(row[key], np.nan, row[f"{key}_low"], row[f"{key}_high"], 0), row[f"{key}_p"]
        )
        for row in table[table[key].notna()].to_dict("records")
        if (row["stream"] == detection_table.ALL) == together
        and fnmatch(row["stream"], streams)
        and fnmatch(row["learner"], methods)
    }
    if not found:
        raise UserError(f'{path} has no method "{methods}" on a stream "{streams}"')
    return found
