"""Read a page of the site for tests: its elements in order, with attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "img", "br", "input", "wbr", "hr"}


@dataclass
class Element:
    """A tag with its attributes, children, and all text inside."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    @property
    def words(self) -> list[str]:
        """The words that a reader sees; those of neighbouring cells stay apart."""
        return " ".join(self.pieces).split()

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the descendants with this tag and these attributes, in order."""
        wanted = {name.replace("_", "-").strip("-"): value for name, value in attributes.items()}
        found = []
        for child in self.children:
            if child.tag == tag and wanted.items() <= child.attributes.items():
                found.append(child)
            found += child.all(tag, **attributes)
        return found

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"{tag} closes {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.pieces.append(data)


def read(path: Path) -> Element:
    """Return the root element. Raises AssertionError if an element is not closed properly."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert len(reader.open) == 1
    return reader.open[0]


def everything(element: Element) -> list[Element]:
    """Return all descendants, in order."""
    return [one for child in element.children for one in (child, *everything(child))]
