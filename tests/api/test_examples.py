"""The examples in docstrings give the output that they show."""

from __future__ import annotations

import doctest

import pytest

from shiftbench.api import experiment, published, streams
from shiftbench.core import checkout


@pytest.mark.parametrize("module", [streams, experiment, published], ids=lambda one: one.__name__)
def test_examples_give_what_they_show(called, monkeypatch, module):
    monkeypatch.chdir(checkout.PACKAGE.parents[1])
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
