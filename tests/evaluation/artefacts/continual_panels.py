"""Learners, figures, panels and expected numbers for tests of continual learning."""

from __future__ import annotations

import numpy as np
from scipy import stats

from shiftbench.evaluation.artefacts import accuracy_matrix, per_task_accuracy, tasks_learnt
from tests.evaluation.scoring import continual_stores

LEARNERS = ("finetune", "ewc", "vogn", "independent", "joint")
FIGURES = [tasks_learnt, per_task_accuracy, accuracy_matrix]


def panel(figure, title):
    found = [axes for axes in figure.get_axes() if axes.get_title(loc="left") == title]
    assert len(found) == 1
    return found[0]


def interval(values):
    """Return the ends of the 95 % interval of mean percentages [seed], symmetric in the logit."""
    mean = values.mean() / 100
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values / 100) / (mean * (1 - mean))
    return 100 * stats.logistic.cdf(stats.logistic.ppf(mean) + np.array([-half, half]))


def at_end(learner):
    a = 100 * continual_stores.matrix(learner).mean(axis=0)
    return np.diagonal(a) if learner == "independent" else a[-1]
