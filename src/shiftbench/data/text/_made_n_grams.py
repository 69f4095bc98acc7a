"""Tables of 5-grams that this package makes, as Google Books publishes them.

They have all 5-grams of the documents of one realisation of planted-words, in which 20 words change
their meaning at known years. They also have what a reader of real tables must leave out: n-grams
with tags, other years, and lines that a scanner misread. The same tables come in the form of 2012
and in that of 2020. Every table is a gz file, in sorted order.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from shiftbench.data.text import planted_words

FIRST_YEAR, SIZE = 1989, 5
TEXT = planted_words.Settings(realisations=1, documents=40, document_length=150)
NUMBER = 2012
"""Number of the realisation."""
FILES = {
    "made-5gram-2012-0.gz": (2012, 0),
    "made-5gram-2012-1.gz": (2012, 1),
    "5-00000-of-00002.gz": (2020, 0),
    "5-00001-of-00002.gz": (2020, 1),
}
"""Release and half of each file."""
MISREAD = ["tlie", "aud", "ofthe", "wliich", "sorne"]
TAGS = ["_NOUN", "_VERB", "_ADJ", "_ADV", "_DET", "_ADP", "_PRT", "_X", "_."]
BLOCK = 2**16 - 1

Row = tuple[str, dict[int, int]]
"""An n-gram with its counts by year."""


def write(file: str, target: Path) -> None:
    """Write one of the files."""
    release, half = FILES[file]
    table = _table()
    first, last = (len(table) * part // 2 for part in (half, half + 1))
    lines = _lines_of_2012 if release == 2012 else _lines_of_2020
    target.write_bytes(_packed("".join(lines(table[first:last]))))


@functools.cache
def _table() -> list[Row]:
    """Return all n-grams in sorted order, each with its years in order."""
    words = [word.replace("-", "") for word in planted_words.words(TEXT)]
    _, documents = planted_words.texts(TEXT, NUMBER)
    counts: Counter[tuple[str, int]] = Counter()
    for place, document in enumerate(documents):
        text = [words[number] for number in document.tolist()]
        for ngram, year, count in _occurrences(text, FIRST_YEAR + place // TEXT.documents):
            counts[ngram, year] += count
    years: dict[str, dict[int, int]] = {}
    for (ngram, year), count in sorted(counts.items()):
        years.setdefault(ngram, {})[year] = count
    return list(years.items())


def _occurrences(text: list[str], year: int) -> Iterator[tuple[str, int, int]]:
    """Yield the n-grams of a document, and what a reader must leave out: n-gram, year, count."""
    yield " ".join(["_START_", *text[: SIZE - 1]]), year, 1
    yield " ".join([*text[1 - SIZE :], "_END_"]), year, 1
    yield " ".join(MISREAD), year, 1
    for first in range(len(text) - SIZE + 1):
        ngram, tenth = text[first : first + SIZE], first // 10
        yield " ".join(ngram), year, 1
        if first % 10 == 0:
            at, tag = tenth % SIZE, TAGS[tenth % len(TAGS)]
            for word in (ngram[at] + tag, "_NOUN_"):
                yield " ".join([*ngram[:at], word, *ngram[at + 1 :]]), year, 1
            yield " ".join(ngram), year + (12, -120)[tenth % 2], 3


def _lines_of_2012(table: Iterable[Row]) -> Iterator[str]:
    for ngram, years in table:
        for year, count in years.items():
            yield f"{ngram}\t{year}\t{count}\t1\n"


def _lines_of_2020(table: Iterable[Row]) -> Iterator[str]:
    for ngram, years in table:
        each = "".join(f"\t{year},{count},1" for year, count in years.items())
        yield f"{ngram}{each}\n"


def _packed(text: str) -> bytes:
    """Return a gz file of stored blocks: compressed ones would differ between versions of zlib."""
    content = text.encode()
    starts = range(0, len(content), BLOCK)
    blocks = [
        struct.pack("<BHH", first == starts[-1], len(part), len(part) ^ BLOCK) + part
        for first in starts
        if (part := content[first : first + BLOCK])
    ]
    head, end = b"\x1f\x8b\x08" + bytes(6) + b"\xff", (zlib.crc32(content), len(content))
    return head + b"".join(blocks) + struct.pack("<II", *end)
