"""The bibliography is in the docs and has every cited key."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from shiftbench.config import bibliography, claims
from shiftbench.config.library import OURS, Library
from shiftbench.core.errors import UserError

KEY = re.compile(r"(?<![\w/.-])[a-z]+(?:19|20)\d\d[a-z]+(?![\w-])")
LINKS = ("https://doi.org/10.", "https://arxiv.org/abs/")
TEXT = {".py", ".yaml", ".yml", ".md", ".json", ".smk", ".rst"}


def test_the_page_has_the_bibliography() -> None:
    page = Path("docs/papers.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"<!-- table: works -->\n\n(.*?)\n\n<!-- /table -->", page, re.DOTALL)
    assert listed == bibliography.as_markdown(), "run `make derived`"


def test_every_cited_key_is_a_work() -> None:
    files = [
        path
        for folder in ("src", "config", "tests", "docs")
        for path in Path(folder).rglob("*")
        if path.suffix in TEXT and path.is_file()
    ]
    cited = {key for path in files for key in KEY.findall(path.read_text(encoding="utf-8"))}
    assert len(cited) > 5 and cited <= set(bibliography.works())


@pytest.mark.parametrize("key", bibliography.works())
def test_a_work_is_complete(key: str) -> None:
    work = bibliography.works()[key]
    assert KEY.fullmatch(key) and str(work.year) in key
    assert work.authors and work.title and work.venue
    assert work.short.endswith(f"({work.year})")
    assert not work.link or work.link.startswith(LINKS)


def test_papers_whose_claims_are_judged_say_in_short_what_they_claim() -> None:
    judged = {one.work for one in claims.load(Library(OURS)).values()}
    assert judged == {key for key, work in bibliography.works().items() if work.claims}


def test_how_captions_name_a_work() -> None:
    assert bibliography.short("li2021vbs") == "Li et al. (2021)"
    with pytest.raises(UserError, match='did you mean "li2021vbs"'):
        bibliography.short("li2021")


@pytest.mark.parametrize(
    "path", sorted(Path("src/shiftbench/evaluation/artefacts").glob("*.py")), ids=str
)
def test_no_reader_of_a_figure_sees_a_key(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documents:
            keys = KEY.findall(str(node.value))
            assert keys in ([], [node.value]), "works.short(key) says it in words"


def test_keys_in_a_text_become_the_names_of_the_works():
    text = "the rate of li2021vbs, Fig. 5 (cherief2019online)"
    assert bibliography.in_words(text) == (
        "the rate of Li et al. (2021), Fig. 5 (Chérief-Abdellatif et al., 2019)"
    )
