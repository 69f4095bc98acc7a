"""The documentation site builds without warnings, opens from disk, and needs no network.

Its notebooks run during the build and are thus tested. It needs Sphinx and Chromium:
`make test-peers`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import shiftbench
from shiftbench import adapters
from shiftbench.config import components
from shiftbench.config.library import OURS, Library
from shiftbench.core import checkout
from tests.browsing import Violations
from tests.checkout import ROOT
from tests.test_docs import blocks

pytestmark = pytest.mark.peers
TUTORIALS = ("changes", "table", "own-method", "paper")
OPTIONS = "-q -E -a -W --keep-going -c docs"
"""Options of Sphinx: no caches, and warnings as errors."""
LARGEST = 30_000_000
"""The maximal size of the site in bytes, with the pages of results."""
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements whose address a browser fetches by itself, with the attribute."""
SHOWN = (
    "docs/index.html",
    "docs/tutorials/changes.html",
    "docs/reference/python.html",
    "docs/reference/house.html",
    "config/README.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of this checkout with empty caches, as `make docs` does, and return it."""
    folder = tmp_path_factory.mktemp("docs")
    assert f"-m sphinx {OPTIONS} " in (ROOT / "Makefile").read_text()
    before = sources()
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *OPTIONS.split(), "-d", folder / "doctrees", ".",
         folder / "html"],
        cwd=ROOT, env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
    assert sources() == before
    return folder / "html"


def sources() -> dict[Path, int]:
    """Return the modification times of the site's sources and of the files beside them."""
    left_out = {"_build", "__pycache__"}
    return {
        path: path.stat().st_mtime_ns
        for name in ("docs", "config", "examples", "results/published")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and not left_out & {*path.parts}
    }


class Page(HTMLParser):
    """The addresses that a page fetches or links to, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attributes}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if address := named.get(FETCHED.get(tag, "")):
            self.fetched.append(address)
        elif tag == "a" and named.get("href"):
            self.links.append(named["href"])


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, Page]:
    """Return all pages of the site, except the theme's templates."""
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_the_site_is_small(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < LARGEST


def test_no_page_fetches_anything_from_a_network(read: dict[Path, Page], site: Path) -> None:
    assert len(read) > 400
    far = [(path.name, one) for path, page in read.items() for one in page.fetched if _is_far(one)]
    assert not far
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert "url(" in styles and not re.search(r"(url\(|@import )['\"]?(https?:)?//", styles)


def test_every_link_within_the_site_leads_to_a_page_and_its_anchor(
    read: dict[Path, Page], site: Path
) -> None:
    wrong = []
    for path, page in read.items():
        for address in (*page.links, *page.fetched):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = read[to].anchors if to in read else None
            anchor = unquote(parts.fragment)
            if not to.is_file() or (anchor and known is not None and anchor not in known):
                wrong.append(f"{path.relative_to(site)}: {address}")
    assert not wrong
    assert "../docs/index.html" in read[site / "benchmark" / "index.html"].links
    assert "../benchmark/index.html" in read[site / "docs" / "index.html"].links


def _is_far(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https") or address.startswith("//")


def test_every_page_of_the_documentation_opens_and_tells_nothing(
    page: Any, read: dict[Path, Page], site: Path
) -> None:
    """There are no remote requests, script errors or console messages."""
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/docs/index.html")
    for path in sorted({*read} - {site / "index.html", *(site / "benchmark").rglob("*")}):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 1400, path.name
    assert [one for one in page.told if not one.startswith("[PST]: ")] == []  # the theme's


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", SHOWN)
def test_axe_finds_nothing_serious(
    page: Any, violations: Violations, site: Path, place: str, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto((site / place).as_uri())
    # Tables of pandas and of Markdown have cells without a header, which is minor.
    assert violations(page, ("serious", "critical")) == []


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_has_run_and_shows_a_figure(site: Path, name: str) -> None:
    """An exception in a notebook would have failed the build; this checks the output."""
    text = (site / "docs" / "tutorials" / f"{name}.html").read_text()
    assert "cell_output" in text and re.search(r'<img[^>]*src="[^"]*\.png"', text)
    assert "Traceback" not in text


def test_the_tutorials_are_these() -> None:
    found = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert found == set(TUTORIALS)


def test_the_search_finds_a_setting(page: Any, site: Path) -> None:
    page.goto((site / "search.html").as_uri() + "?q=beta_rlm")
    page.locator("#search-results li a").first.wait_for()
    assert "Config reference" in page.locator("#search-results").inner_text()


def test_the_reference_has_every_public_name_and_adapter(site: Path) -> None:
    text = (site / "docs/reference/python.html").read_text()
    assert len(dir(shiftbench)) > 5
    for name in {*dir(shiftbench)} - {"__version__"}:
        assert f'id="shiftbench.{name}"' in text, name
    of_adapters = (site / "docs/reference/adapters.html").read_text()
    for path in Path(adapters.__path__[0]).glob("[a-z]*.py"):
        assert f'id="module-shiftbench.adapters.{path.stem}"' in of_adapters


def test_the_reference_has_every_method_and_component(read: dict[Path, Page], site: Path) -> None:
    links = read[site / "docs/reference/methods.html"].links
    methods = Library(OURS).methods
    assert len(methods) > 100
    assert {f"../../benchmark/methods/{name}.html" for name in methods} <= set(links)
    keys = read[site / "config/README.html"].anchors
    for kind in ("learners", "combinators", "streams"):
        assert {*components.names(kind)} <= keys


def test_the_drawing_has_every_room_of_the_house() -> None:
    drawn = (ROOT / "docs" / "reference" / "house.svg").read_text()
    packages = {path.parent.name for path in checkout.PACKAGE.glob("*/__init__.py")}
    assert set(re.findall(r'class="code name">(\w+)<', drawn)) == packages


def test_a_learner_of_the_tutorial_is_that_of_contributing() -> None:
    """Tests run both copies of the code, so they must be equal."""
    (first, *_) = blocks((ROOT / "CONTRIBUTING.md").read_text(), "python")
    text = (ROOT / "docs" / "tutorials" / "own-method.md").read_text()
    assert first.split("\n", 1)[1] in text
