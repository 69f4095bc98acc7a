"""A study's page shows sentences shared by all captions only once."""

from __future__ import annotations

from shiftbench.publish.site import attachments
from shiftbench.publish.site.attachments import SiteFigure


def drawn(caption: str) -> SiteFigure:
    return SiteFigure("one", "one.webp", "", (1, 1), "", caption, "one.svg")


def test_a_sentence_of_all_captions_is_shown_once() -> None:
    one = drawn("VGS leads by 2.4 points. Bars: 95 % intervals. 10 of 10 runs, prior .005 (1).")
    two = drawn("Down is better. 10 of 10 runs, prior .005 (1).")
    shorter, shared = attachments.shared_sentences([one, two])
    assert [figure.caption for figure in shorter] == [
        "VGS leads by 2.4 points. Bars: 95 % intervals.",
        "Down is better.",
    ]
    assert shared == "10 of 10 runs, prior .005 (1)."
    assert attachments.shared_sentences([one, two], "10 of 10 runs, prior .005 (1)") == (
        shorter,
        "",
    )


def test_a_single_figure_keeps_its_caption() -> None:
    assert attachments.shared_sentences([drawn("One. Two.")]) == ([drawn("One. Two.")], "")


def test_words_that_were_wrapped_at_a_hyphen_are_whole(monkeypatch) -> None:
    monkeypatch.setattr(
        "shiftbench.evaluation.figure_files.read_caption",
        lambda path: "Kaplan- Meier; over- and underestimates; Wilson - Hilferty",
    )
    assert attachments._caption("one.png") == (
        "Kaplan-Meier; over- and underestimates; Wilson - Hilferty"
    )
