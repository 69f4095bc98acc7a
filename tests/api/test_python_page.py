"""The examples in the docs' page on Python and in docstrings run."""

from __future__ import annotations

import doctest
import re

import pytest

from shiftbench.api import changepoints, online_method
from tests.checkout import ROOT
from tests.test_docs import blocks

PAGE = ROOT / "docs" / "python.md"
PEER = re.compile(r"^from (river|ruptures) import", re.MULTILINE)
"""Matches snippets that run separately, and only in .venv-peers."""


def test_the_snippets_of_the_page_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    for code in blocks(PAGE.read_text(), "python"):
        if not PEER.search(code):
            exec(code, found)
    assert found["mean"] == pytest.approx(-3.0, abs=0.5)
    assert found["found"].frame["position"].tolist() == [40]
    assert found["again"].tasks_done == 200


@pytest.mark.peers
@pytest.mark.parametrize(
    ("peer", "name", "expected"), [("river", "drifts", [80]), ("ruptures", "score", (1.0, 1.0))]
)
def test_the_snippets_of_other_libraries_run(peer, name, expected) -> None:
    pytest.importorskip(peer, reason="is in .venv-peers; see envs/peers.txt")
    (code,) = [c for c in blocks(PAGE.read_text(), "python") if peer in PEER.findall(c)]
    found: dict = {}
    exec(code, found)
    assert found[name] == expected


@pytest.mark.parametrize("module", [online_method, changepoints])
def test_the_examples_of_docstrings_are_true(module) -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0
