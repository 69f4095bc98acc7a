"""Binning of periods against draws of documents and of periods."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.evaluation.theory import binning


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_the_error_is_that_of_a_random_period_of_the_right_bin(length):
    own, dated = np.meshgrid(np.arange(length), np.arange(length))
    assert binning.error(np.array(length)) == pytest.approx(np.abs(own - dated).mean())
    assert binning.error_as_printed(np.array(length)) >= binning.error(np.array(length))


def test_the_error_at_a_rate_has_bins_from_one_period_to_the_stream():
    rates = np.array([40.0, 20.0, 10.0, 3.0, 0.0])
    errors = binning.error_at_rate(rates, words=40, periods=10)
    np.testing.assert_allclose(errors, binning.error(np.array([1.0, 2.0, 4.0, 10.0, 10.0])))
