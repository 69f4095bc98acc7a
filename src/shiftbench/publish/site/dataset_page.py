"""The data sets that studies with results use, with the streams made of them."""

from __future__ import annotations

from shiftbench.data.store import raw
from shiftbench.publish.site.collect import Results, Study


def used(results: Results) -> dict[str, list[tuple[Study, str]]]:
    """By data set, in the order of the table of raw files: studies with their streams of it."""
    found: dict[str, list[tuple[Study, str]]] = {}
    for study in results.studies:
        for stream in study.planned.streams:
            name = study.plan.config.streams[stream].settings.get("dataset")
            if name in raw.table():
                found.setdefault(name, []).append((study, stream))
    return {name: found[name] for name in raw.table() if name in found}
