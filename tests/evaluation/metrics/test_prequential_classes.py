"""The error of classes predicted before they are learnt, on rows counted by hand."""

from __future__ import annotations

import numpy as np

from shiftbench.core.interface import Batch, Categorical, Gaussian
from shiftbench.evaluation.metrics.prequential_classes import error

WEIGHTS = np.log([[0.25, 0.75]])


def batch(*labels, mask=True):
    shown = np.ones((1, len(labels)), bool)
    shown[0, -1] = mask
    return Batch(np.zeros((1, len(labels), 1)), np.array([labels]), shown)


def test_the_most_probable_class_of_the_mixture_counts():
    p = np.array([[[[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], [[0.4, 0.6], [0.5, 0.5], [0.1, 0.9]]]])
    said = Categorical(WEIGHTS, p)  # class 0 with .525, class 0 by a tie, class 1
    assert error(said, batch(0, 0, 1)).tolist() == [0]
    assert error(said, batch(1, 0, 0)).tolist() == [2 / 3]
    assert error(said, batch(1, 0, 0, mask=False)).tolist() == [0.5]


def test_of_scores_the_sign_of_the_mean_counts():
    mean = np.array([[[[4.0], [-1.0]], [[-1.0], [-1.0]]]])  # means .25 and -1
    said = Gaussian(WEIGHTS, mean, np.ones_like(mean))
    assert error(said, batch(1, 0)).tolist() == [0]
    assert error(said, batch(0, 0)).tolist() == [0.5]
