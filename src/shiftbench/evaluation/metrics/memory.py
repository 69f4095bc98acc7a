"""Metrics of memory: the rows of a stream that a method keeps to learn from or to predict with."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.scoring import kept_rows


def memory(run: xr.Dataset, stream: xr.Dataset, *, what: str) -> np.ndarray:
    """Return the rows kept at the end of the stream, or the numbers in them, equal for all [seed].

    They follow from settings and stream; parameters of the network and of a posterior do not count.
    """
    return np.full(run.sizes["seed"], float(getattr(kept_rows.of_run(run, stream), what)))


METRICS = [
    Metric(
        "memory_rows",
        about="Rows of the stream that a method keeps, at the end of it.",
        unit="rows",
        bounds=(0.0, None),
        better=None,
        stage="run",
        score=partial(memory, what="rows"),
    ),
    Metric(
        "memory_numbers",
        about="Numbers in the rows that a method keeps: inputs, targets and stored logits.",
        unit="numbers",
        bounds=(0.0, None),
        better=None,
        stage="run",
        score=partial(memory, what="numbers"),
    ),
]
