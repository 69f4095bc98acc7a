"""Loss of the best fixed predictor in hindsight, which tables and figures show beside methods.

It knows all rows of a stream, so it is not a method: it is computed from the truth.
"""

from __future__ import annotations

import numpy as np

from shiftbench.evaluation.scoring.results import StudyResults

LOSS = "average_cumulative_loss"
LABEL = "Best fixed"
BOUNDS = {"expected_regret": "regret_bound", "regret": "regret_bound_worst_case"}
"""The bound for each regret; some worst-case bounds do not hold for the expected regret."""


def loss(study: StudyResults, stream: str) -> np.ndarray | None:
    """Return the mean loss per row [seed] of the best fixed predictor; NaN for failed seeds.

    It is the mean loss of a method that has a regret, minus that regret per row. None without the
    regret, or without a method whose own loss is the loss that the study shows.
    """
    if "regret" not in study.metrics:
        return None
    tasks = study.streams[stream].sizes["task"]
    for method in study.methods:
        score, regret = (study.score(stream, method, name) for name in (LOSS, "regret"))
        finite = np.isfinite(regret)
        if finite.any():
            of_run = study.run(stream, method)["info_loss"].sum(("task", "hypothesis"))
            if np.allclose(of_run.values / tasks, score[finite]):
                return score - regret / tasks
    return None
