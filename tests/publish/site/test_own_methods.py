"""Methods that a config defines have pages and rows, as those of the library."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from shiftbench.config.library import Library
from shiftbench.publish.site import collect, pages, snippet, standings
from tests.checkout import PUBLISHED
from tests.publish.site import html
from tests.publish.site.conftest import without_bundle

STUDY = "online-change"
ABOUT = {"label": "Mine", "summary": "An idea of mine.", "cite": ["unpublished"]}


def config_of(folder: Path, **more: object) -> Path:
    """Write a config with the study, in which the config's own method stands for OGA.

    more: further keys of the method.
    """
    pipeline = Library(folder).methods["oga"].data["pipeline"]
    names = ["mine", "svb", "svb-constant", "vbs-svb"]
    study = {"from": STUDY, "budget": "embedded", "methods": names}
    content = {
        "methods": {"mine": {"pipeline": pipeline, **ABOUT, **more}},
        "studies": {STUDY: study},
    }
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def results_of(folder: Path) -> Path:
    """Write the results of the config, and return their folder."""
    of_study = folder / "results/mine/studies" / STUDY
    shutil.copytree(PUBLISHED / "embedded/studies" / STUDY, of_study)
    for name in ("summary.csv", "scores.csv"):
        text = (of_study / name).read_text()
        (of_study / name).write_text(
            text.replace(",oga,oga,", ",mine,mine,").replace("oga", "mine")
        )
    return folder / "results/mine"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        without_bundle(patch)
        patch.setattr(snippet, "of", lambda *_: None)
        pages.write(results_of(folder), folder / "site", [config_of(folder)])
    return folder / "site"


def test_a_method_of_the_config_has_a_page_with_its_results(site: Path) -> None:
    page = html.read(site / "methods/mine.html")
    assert page.one("h1").text == "Mine"
    text = page.one("main").text
    assert "An idea of mine." in text and "unpublished" in text
    assert page.one("p", id="own").text == (
        "A method of the config mine.yaml, not of shiftbench's library."
    )

    places = [one.attributes["href"] for one in page.all("a") if "#mine" in one.attributes["href"]]
    assert f"../studies/mine/{STUDY}.html#mine" in places
    assert f"shiftbench show mine --study {STUDY} --config " in text
    library = html.read(site / "methods/svb.html")
    assert not library.all("p", id="own") and "shiftbench show svb." in library.one("main").text


def test_a_method_of_the_config_is_in_lists_and_linked(site: Path) -> None:
    names = html.read(site / "methods.html").one("ul", class_="names").all("li")
    assert names[0].text == "Mine 1 study; a method of mine.yaml"
    assert "Mine: method" in (site / "assets/pages.js").read_text()
    row = html.read(site / f"studies/mine/{STUDY}.html").all("tr", id="mine")[0]
    assert row.one("th").all("a")[0].attributes["href"] == "../../methods/mine.html"
    assert "Mine" in html.read(site / "matrix/mine.html").one("main").text


def test_the_settings_of_a_study_have_its_summary_and_its_works(site: Path) -> None:
    page = html.read(site / f"studies/mine/{STUDY}_settings.html")
    (text,) = [one.text for one in page.all("pre") if one.text.startswith("mine: Mine")]
    assert text.startswith(f"mine: Mine An idea of mine. unpublished in the study {STUDY}")


@pytest.mark.parametrize("bound", [True, False])
def test_a_bound_that_the_config_defines_is_not_ranked(tmp_path: Path, bound: bool) -> None:
    config = config_of(tmp_path, bound=bound)
    (study,) = collect.collect(results_of(tmp_path), [config]).studies
    known = standings.of(study)
    assert known.bounds == (["mine"] if bound else [])
    assert all(("mine" in cell.scores) != bound for cell in known.cells.values())
    assert ("Mine not ranked" in standings.finding(study, known)) == bound
