"""Tokens equal those of a regular expression; a word's number is its position in the list."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.data.text import _tokens
from tests.data.text.word_counts import TOKEN


def tokens(text: str) -> list[str]:
    result = _tokens.split(text)
    return [text[a:b] for a, b in zip(result.start, result.stop, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("Don't stop-me -now-", ["Don't", "stop-me", "-", "now", "-"]),
        ("a--b 3.5%", ["a", "-", "-", "b", "3", ".", "5", "%"]),
        ("it''s 'x'", ["it", "'", "'", "s", "'", "x", "'"]),
        ("Côte d’Ivoire, 1970_2", ["Côte", "d’Ivoire", ",", "1970_2"]),  # noqa: RUF001
    ],
)  # fmt: skip
def test_words_and_marks(text, expected):
    assert tokens(text) == TOKEN.findall(text) == expected


def test_any_text_is_split_as_the_regular_expression_does():
    random = np.random.default_rng(0)
    common = [ord(c) for c in "aB1_-'’ \n.,;\u00e9\u3000\u0430\u2014"]  # noqa: RUF001
    plane = np.concatenate([np.arange(0xD800), np.arange(0xE000, 0x10000)])
    points = np.where(
        random.random(60000) < 0.7, random.choice(common, 60000), random.choice(plane, 60000)
    )
    text = "".join(map(chr, points))
    assert tokens(text) == TOKEN.findall(text)


def test_a_word_has_its_place_in_the_list():
    words = [f"word-{n}" for n in range(1000)]
    text = " ".join(words[::-1]) + " unknown Word-3"
    result = _tokens.numbers(_tokens.table(words), _tokens.split(text).digest)
    assert result.tolist() == [*range(999, -1, -1), -1, -1]


def test_digests_of_many_words_differ():
    text = " ".join(f"{a}{n}" for n in range(100000) for a in ("", "a", "b"))
    assert len(np.unique(_tokens.split(text).digest)) == 300000
