"""Whether the most likely history at the end is the exact most likely jump sequence.

1 if all jumps agree, else 0. The exact one is found among all jump sequences of the run's
own model (`theory.exact_segmentation`), so it needs a learner whose model that is: a
beam with absolute broadening (`diffuse`) over `gaussian-mean`, one real value a task. NaN
for other learners, and for streams with more than one value a task.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import beam_lineage
from shiftbench.evaluation.theory import exact_segmentation

STAGE = "run"
UNIT = "fraction"
BOUNDS = (0.0, 1.0)
HIGHER_IS_BETTER = True
TAKES = ("value",)
FROM = ("lineage", "diffusion", "level")


def score(run: xr.Dataset, stream: xr.Dataset) -> np.ndarray:
    """Agreement [seed], 0 or 1."""
    exact = exact_segmentation.of_run(run, stream)
    if exact is None:
        return np.full(run.sizes["seed"], np.nan)
    return (beam_lineage.shifts(run) == exact).all(axis=1).astype(float)
