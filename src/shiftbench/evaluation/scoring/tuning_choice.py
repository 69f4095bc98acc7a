"""Choice of the best of a learner's trials, by the mean of a metric over their seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError


def best(spec: Mapping[str, Any], scores: xr.DataTree) -> dict[str, Any]:
    """Return the settings of the best trial, and the score of every trial (None if it failed).

    spec: see `config.specs.choice`. scores: the tree of `scoring.summarise`, of the trials.
    Of equal scores the first wins; a trial with a seed that failed counts as failed. UserError
    if all did.
    """
    trials = list(spec["trials"])
    cube = scores["scores/score"].sel(stream=spec["stream"], metric=spec["metric"])
    means = cube.sel(learner=trials).mean("seed", skipna=False).values
    if np.isnan(means).all():
        raise UserError(
            f"study {spec['study']}: all trials of {spec['learner']} on {spec['stream']} failed, or"
            f" {spec['metric']} is not defined for it; give it other settings to try"
        )
    chosen = np.nanargmax(means if spec["higher_is_better"] else -means)
    return {
        "learner": spec["learner"],
        "stream": spec["stream"],
        "metric": spec["metric"],
        "settings": spec["trials"][trials[chosen]],
        "trials": [
            {"settings": spec["trials"][name], "score": None if np.isnan(mean) else float(mean)}
            for name, mean in zip(trials, means, strict=True)
        ],
    }
