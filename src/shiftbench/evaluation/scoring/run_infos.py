"""The infos that a run store keeps of each task, and what they tell about changes.

A beam keeps the *lineage* of its hypotheses: the parent of each, and its decision about a shift. A
lineage tells the *history* of each hypothesis: when its last shift was. So do run lengths with the
probability of the best history that ends in each.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import xarray as xr

PREFIX = "info_"


def values(run: xr.Dataset, name: str) -> np.ndarray:
    """Return an info [seed, task, hypothesis, ...]; on counts, the last dimension is the word."""
    return run[PREFIX + name].transpose("seed", "task", "hypothesis", ...).values


def has_lineage(run: xr.Dataset) -> bool:
    """Return whether a run keeps the decisions of hypotheses about shifts, and their parents."""
    return lineage_among(_names(run))


def has_history(run: xr.Dataset) -> bool:
    """Return whether a run keeps when the last shift of every hypothesis was."""
    return history_among(_names(run))


def lineage_among(names: Collection[str]) -> bool:
    """Return whether infos with these names have a lineage."""
    return {"parent", "shift"} <= {*names}


def history_among(names: Collection[str]) -> bool:
    """Return whether infos with these names have a history."""
    return lineage_among(names) or "map_log_joint" in names


def _names(run: xr.Dataset) -> list[str]:
    return [str(name).removeprefix(PREFIX) for name in run if str(name).startswith(PREFIX)]
