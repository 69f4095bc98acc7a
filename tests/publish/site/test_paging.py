"""Long tables are cut into pages of few words, in order and without loss."""

from __future__ import annotations

from shiftbench.publish.site import paging


def test_pages_have_all_rows_in_order_and_few_words():
    rows = [f"row {i} of many" for i in range(1000)]
    pages = list(paging.cut("studies/it_scores", rows, lambda row: paging.words([row])))
    assert [row for page in pages for row in page.rows] == rows
    assert all(len(page.rows) * 4 <= paging.MOST_WORDS for page in pages)
    assert len(pages) == -(-4000 // paging.MOST_WORDS)
    assert [page.address for page in pages][:2] == [
        "studies/it_scores.html",
        "studies/it_scores-2.html",
    ]
    assert all(page.addresses == [one.address for one in pages] for page in pages)


def test_a_row_is_never_cut_and_an_empty_table_has_a_page():
    long = "word " * (paging.MOST_WORDS + 1)
    pages = list(paging.cut("it", ["short", long, "short"], lambda row: paging.words([row])))
    assert [page.rows for page in pages] == [["short"], [long], ["short"]]
    (page,) = paging.cut("it", [], len)
    assert page == paging.TablePage("it.html", [], ["it.html"])


def test_an_empty_cell_counts_as_the_dash_that_it_shows():
    assert paging.words(["two words", ""]) == 3
