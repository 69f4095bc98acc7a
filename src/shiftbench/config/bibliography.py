"""The works that code, configs and captions cite by key (bibliography.yaml beside this file)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from shiftbench.core.suggestions import refuse_unknown

FIVE = (
    "li2021vbs",
    "eschenhagen2019vogn",
    "cherief2019online",
    "farquhar2020radial",
    "knoblauch2018robust",
)
"""The papers whose methods and tables this package began with."""


class Work(NamedTuple):
    """A paper or thesis.

    link: its DOI or arXiv address, empty if unknown; claims: what it argues, for papers of which we
    judge claims.
    """

    authors: tuple[str, ...]
    year: int
    title: str
    venue: str
    short: str
    link: str = ""
    claims: str = ""


@cache
def works() -> Mapping[str, Work]:
    """Return all works by key, in the order of the file."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return {
        key: Work(**{**entry, "authors": tuple(entry["authors"])})
        for key, entry in yaml.load(text, yaml.CSafeLoader).items()
    }


def short(key: str) -> str:
    """Return a work's name in captions, as "Li et al. (2021)". UserError for an unknown key."""
    refuse_unknown("work", key, works())
    return works()[key].short


def in_words(text: str) -> str:
    """Return a text with the names of works in place of their keys.

    As "Li et al. (2021)" or, within parentheses, "Li et al., 2021".
    """
    for key, work in works().items():
        first, *rest = text.split(key)
        for part in rest:
            within = first.count("(") > first.count(")")
            name = work.short.replace(" (", ", ").removesuffix(")") if within else work.short
            first += name + part
        text = first
    return text


def as_markdown() -> str:
    """Return all works as a list in Markdown, sorted by key."""
    return "\n".join(
        f"- `{key}`: {', '.join(work.authors)} ({work.year}). {_linked(work)}. {work.venue}."
        for key, work in sorted(works().items())
    )


def _linked(work: Work) -> str:
    # A bracket in an address would end the link.
    address = work.link.replace("(", "%28").replace(")", "%29")
    return f"[{work.title}]({address})" if address else work.title
