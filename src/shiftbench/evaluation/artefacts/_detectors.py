"""Learners that decide about shifts."""

from __future__ import annotations

import numpy as np

from shiftbench.evaluation.scoring import segmentation
from shiftbench.evaluation.scoring.results import StudyResults


def inferred(study: StudyResults, stream: str, learner: str) -> np.ndarray | None:
    """Return the shifts of the most probable history at the end [seed, task].

    None for a learner that does not decide about shifts, or whose runs all failed.
    """
    run = study.run(stream, learner)
    return segmentation.inferred(run) if run.sizes["seed"] else None


def of_stream(study: StudyResults, stream: str) -> dict[str, np.ndarray]:
    """Return `inferred` of each learner that decides about shifts."""
    shifts = {name: inferred(study, stream, name) for name in study.learners}
    return {name: flags for name, flags in shifts.items() if flags is not None}
