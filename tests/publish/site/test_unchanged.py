"""A change to any source of a site is noticed, also behind symbolic links."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.publish.site import unchanged


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return results with a study that is a link to another disk, and a link that leads back."""
    elsewhere = tmp_path / "disk" / "nile"
    elsewhere.mkdir(parents=True)
    (elsewhere / "summary.csv").write_text("one")
    (elsewhere / "back").symlink_to(elsewhere.parent)
    studies = tmp_path / "results" / "studies"
    studies.mkdir(parents=True)
    (studies / "nile").symlink_to(elsewhere)
    return studies.parent


def test_a_file_below_a_link_counts(results, tmp_path):
    before = unchanged.made_from(results)
    assert unchanged.made_from(results) == before
    (tmp_path / "disk" / "nile" / "summary.csv").write_text("another")
    assert unchanged.made_from(results) != before


def test_bytecode_does_not_count(results):
    before = unchanged.made_from(results)
    cache = results / "studies" / "__pycache__"
    cache.mkdir()
    (cache / "one.pyc").write_text("")
    assert unchanged.made_from(results) == before


def test_pages_that_are_gone_or_edited_are_noticed(results, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    page = site / "index.html"
    page.write_text("page")
    state = unchanged.made_from(results)
    unchanged.record(site, state)
    assert unchanged.holds(site, state)
    page.write_text("edited")
    assert not unchanged.holds(site, state)
    page.unlink()
    assert not unchanged.holds(site, state)
