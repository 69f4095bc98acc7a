"""Data sets that studies with results use, with the streams built from them."""

from __future__ import annotations

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
