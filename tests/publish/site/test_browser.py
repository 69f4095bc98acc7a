"""The published site works in a headless browser: no errors, and links, choosers and sorting.

Needs Chromium, and playwright and axe-playwright-python from envs/peers.txt: `make test-peers`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shiftbench.publish.site import pages
from tests.browsing import Violations
from tests.checkout import PUBLISHED
from tests.publish.site import html

pytestmark = pytest.mark.peers
MOST_WORDS = 1500
LARGEST = 20_000_000
"""The maximal size in bytes of the site, which has about a hundred studies and 170 methods."""
STUDY = "studies/cpu/permuted-mnist.html"
FULL = "studies/cpu/permuted-mnist-full.html"
"""A study that uses all images and whose paper prints numbers."""
PLACES = (
    "index.html",
    "which-method.html",
    "gallery.html",
    "matrix/cpu.html",
    "papers/farquhar2020radial.html",
    "papers/farquhar2020radial-lines.html",
    STUDY,
    "studies/cpu/regimes_scores-2.html",
    "studies/cpu/regimes_settings.html",
    "studies/cpu/online-regret-full_claims.html",
    "studies/cpu/memory_table-continual-table.html",
    "methods/vogn.html",
    "datasets/mnist.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "site"
    pages.write(PUBLISHED, made)
    return made


def test_the_site_is_small(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert size < LARGEST


def test_no_page_is_long(site: Path) -> None:
    lengths = {one: len(html.read(one).one("main").words) for one in site.rglob("*.html")}
    assert len(lengths) > 600
    assert {one.name: n for one, n in lengths.items() if n > MOST_WORDS} == {}


@pytest.mark.parametrize("width", [1400, 400])
def test_every_page_opens_without_a_word_and_fits(page: Any, site: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        if page.locator(".chart").count():
            page.wait_for_selector(".chart svg .mark-symbol path")
        across = page.evaluate("document.documentElement.scrollWidth")
        assert across <= width, f"{path.name} is {across} wide"
    assert page.told == []


def test_two_clicks_lead_to_vogn_on_permuted_mnist(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator("a[href='matrix/cpu.html']").first.click()
    page.locator(f"a[href='../{FULL}#vogn']").first.click()
    row = page.locator("tr#vogn")
    assert row.is_visible()
    assert all(told in row.inner_text() for told in ("93.61", "94.00", "3 of 3 runs"))
    assert "permuted-mnist-full" in page.locator("#command").inner_text()
    assert page.locator("#leading").inner_text().startswith("acc: Average accuracy over all tasks")


def test_the_chooser_changes_the_chart(page: Any, site: Path) -> None:
    page.goto((site / STUDY).as_uri())
    marks = page.locator(".chart svg .mark-symbol path")
    marks.first.wait_for()
    assert marks.count() == 13 * 5
    assert page.locator("#chart-shows").inner_text() == "acc (%) on permuted-mnist"
    page.locator("[name=seed]").select_option("2")
    page.wait_for_function("document.querySelectorAll('.chart svg .mark-symbol path').length == 13")
    page.get_by_role("button", name="none").click()
    page.locator(".chart").wait_for(state="hidden")
    assert page.locator("#chart-shows").inner_text() == "No score fits this choice."
    page.get_by_label("VOGN", exact=True).check()
    page.wait_for_function("document.querySelectorAll('.chart svg .mark-symbol path').length == 1")
    label = marks.first.get_attribute("aria-label")
    page.locator("[name=metric]").select_option("nll")
    page.wait_for_function(
        "old => document.querySelector('.chart svg .mark-symbol path').ariaLabel != old", arg=label
    )
    assert page.told == []


def test_tables_sort_and_the_ledger_filters(page: Any, site: Path) -> None:
    page.goto((site / STUDY).as_uri())
    head = page.locator("#table thead button").filter(has_text="acc").first
    head.press("Enter")  # with the keyboard
    cells = page.locator("#table [data-metric=acc]")
    values = [float(cells.nth(at).get_attribute("data-sort")) for at in range(cells.count())]
    assert values == sorted(values) and len(set(values)) > 5
    head.press("Enter")
    assert float(cells.first.get_attribute("data-sort")) == max(values)


def test_the_start_page_is_one_screen_whose_board_sorts(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    head = page.locator("#board thead button").filter(has_text="Calibration")
    head.press("Enter")
    cells = page.locator("#board tbody tr td:nth-child(4)")
    keys = [cells.nth(at).get_attribute("data-sort") for at in range(cells.count())]
    numbers = [float(key) for key in keys if key]
    assert numbers == sorted(numbers) and len(numbers) > 5, "the least error first"
    assert keys[: len(numbers)] == [key for key in keys if key], "methods without a score come last"


def test_the_search_box_opens_a_page_with_the_keyboard(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    field = page.get_by_label("Find a method")
    field.fill("vogn permuted")
    found = page.locator(".search li a")
    assert found.count() and "VOGN" in page.locator(".search ul").inner_text()
    field.fill("slang: method")
    field.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/methods/slang.html")
    assert page.told == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing(
    page: Any, violations: Violations, site: Path, place: str, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto((site / place).as_uri())
    assert violations(page) == []
