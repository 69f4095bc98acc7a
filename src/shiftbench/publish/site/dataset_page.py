"""Data sets that studies with results use, with the streams built from them."""

from __future__ import annotations

from typing import Any

from shiftbench.data.store import raw
from shiftbench.publish.site.collect import SiteResults, SiteStudy


def used(results: SiteResults) -> dict[str, list[tuple[SiteStudy, str]]]:
    """Return studies and streams by data set, in the order of the table of raw files."""
    uses: dict[str, list[tuple[SiteStudy, str]]] = {}
    for study in results.studies:
        for stream in study.planned.streams:
            name = study.plan.config.streams[stream].settings.get("dataset")
            if name in raw.table():
                uses.setdefault(name, []).append((study, stream))
    return {name: uses[name] for name in raw.table() if name in uses}


def of(name: str) -> dict[str, Any]:
    """Return what the page of a data set shows; links: the addresses of files to fetch."""
    dataset = raw.table()[name]
    addresses = {file: entry.address for file, entry in dataset.files.items()}
    links = {
        file: address for file, address in addresses.items() if not address.startswith(raw.MADE)
    }
    return {"name": name, "dataset": dataset, "links": links}
