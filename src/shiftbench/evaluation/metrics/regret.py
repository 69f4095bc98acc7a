"""Regrets against the best fixed predictor in hindsight, and their bounds (cherief2019online).

Over the whole stream, in the learner's own loss (ridge included). NaN for other learners than the
plain online ones.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from shiftbench.core.metric import Metric
from shiftbench.evaluation.theory import regret


def bound(run: xr.Dataset, stream: xr.Dataset, *, which: int) -> np.ndarray:
    """Return the right side of a theorem minus the loss of the best fixed predictor [seed].

    So it compares with both regrets. which: 0 with the stream's own gradients, 1 with its
    Lipschitz constant. See evaluation/theory/regret.py for Theorems 1 and 2 and their constants;
    NaN where none applies.
    """
    return regret.bounds(run, stream)[which]


OfTable = partial(Metric, unit="loss", stage="run", requires=("table",))
METRICS = [
    OfTable(
        "regret",
        about="Sum of losses of the posterior mean minus that of the best fixed predictor in"
        " hindsight.",
        better="lower",
        from_learner=("loss",),
        score=partial(regret.of_losses, info="info_loss"),
    ),
    OfTable(
        "expected_regret",
        about="Sum of expected losses minus the loss of the best fixed predictor in hindsight.",
        better="lower",
        from_learner=("loss",),
        score=partial(regret.of_losses, info="info_expected_loss"),
    ),
    OfTable(
        "regret_bound",
        about="Bound of a theorem on the regret, with the stream's own gradients.",
        better=None,
        from_learner=("loss", "theorem"),
        score=partial(bound, which=0),
    ),
    OfTable(
        "regret_bound_worst_case",
        about="Bound of a theorem on the regret, with the Lipschitz constant of the stream.",
        better=None,
        from_learner=("loss", "theorem"),
        score=partial(bound, which=1),
    ),
]
