"""Methods of a study in the order of its leading metric."""

from __future__ import annotations

import numpy as np

from shiftbench.evaluation.scoring import ranking
from shiftbench.evaluation.scoring.results import StudyResults


def leading_metric(study: StudyResults, artefact: str) -> str:
    """Return `acc` if the study has it, else its first metric with a better direction.

    Raises UserError, naming the artefact, without such a metric.
    """
    metric = ranking.leading_metric(study.metrics)
    if metric is None:
        raise study.lacking(artefact, "a metric of which more or less is better")
    return metric


def scores(study: StudyResults, stream: str, metric: str) -> dict[str, np.ndarray]:
    """Return the scores [seed] of all methods."""
    return {name: study.score(stream, name, metric) for name in study.methods}


def best_first(study: StudyResults, stream: str, metric: str) -> dict[str, np.ndarray]:
    """Return the scores [seed] of the methods that have any, best mean first."""
    return ranking.best_first(scores(study, stream, metric), metric)
