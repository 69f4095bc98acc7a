"""The gallery: each kind of figure with what it shows and an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shiftbench.publish.site import attachments
from shiftbench.publish.site.attachments import SiteFigure
from shiftbench.publish.site.collect import SiteStudy


class Kind(NamedTuple):
    """A kind of figure: what it shows, the example and its study, and the number of studies."""

    name: str
    summary: str
    figure: SiteFigure
    study: SiteStudy
    studies: int


def of(studies: Sequence[SiteStudy], figures: Mapping[str, Sequence[SiteFigure]]) -> list[Kind]:
    """Return the kinds of the figures by name; figures: of each study, by its place.

    The example is the first of its kind, in the order of the studies.
    """
    drawn: dict[str, list[tuple[SiteFigure, SiteStudy]]] = {}
    for study in studies:
        for one in figures[study.place]:
            drawn.setdefault(one.name, []).append((one, study))
    return [
        Kind(name, attachments.about(name), *drawn[name][0], len(drawn[name]))
        for name in sorted(drawn)
    ]
