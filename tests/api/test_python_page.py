"""The page of the docs about Python, and the examples of docstrings, do what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from shiftbench.api import changepoints, online_method
from tests.test_docs import blocks

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_snippets_of_the_page_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    for code in blocks(PAGE.read_text(), "python"):
        exec(code, found)
    assert found["mean"] == pytest.approx(-3.0, abs=0.5)
    assert found["found"].frame["position"].tolist() == [40]
    assert found["again"].tasks_done == 200


@pytest.mark.parametrize("module", [online_method, changepoints])
def test_the_examples_of_docstrings_are_true(module) -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0
