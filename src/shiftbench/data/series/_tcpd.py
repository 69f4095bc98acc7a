"""Series of the Turing Change Point Dataset (TCPD), with the changepoints that people marked.

Source: G. J. J. van den Burg and C. K. I. Williams, 2020, arXiv:2003.06222. 32 of its 42 series may
be redistributed; three more are rebuilt from a package (`_tcpd_from_river`). The marks of the five
annotators of each are in `_tcpd.yaml`.
"""

from __future__ import annotations

from pathlib import Path

import yaml

PREFIX = "tcpd-"
"""Prefix of the names of its data sets: tcpd-brent-spot is the file brent_spot."""


def file_name(dataset: str) -> str:
    """Return the name of the file of a data set."""
    return f"{_name(dataset)}.json"


def positions(dataset: str) -> dict[str, list[int]]:
    """Return the positions of each annotator, from 0, in the values of the data set."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    marks = yaml.load(text, yaml.CSafeLoader)  # in C: every job reads this
    return marks[_name(dataset)]


def _name(dataset: str) -> str:
    return dataset.removeprefix(PREFIX).replace("-", "_")
