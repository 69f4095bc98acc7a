"""Write the site: collect results, fill the templates, and replace the folder at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.config import bibliography
from shiftbench.core.errors import UserError
from shiftbench.data.store import scratch
from shiftbench.publish.site import (
    advice,
    attachments,
    board,
    charts,
    collect,
    dataset_page,
    gallery,
    matrix,
    method_page,
    paging,
    paper_page,
    picture,
    search,
    situations,
    standings,
    study_list,
    study_pages,
    verdict_counts,
)
from shiftbench.publish.site.attachments import SiteFigure
from shiftbench.publish.site.collect import SiteResults
from shiftbench.publish.site.situations import Decided
from shiftbench.publish.site.standings import Standings
from shiftbench.publish.site.verdict_counts import PaperCounts
from shiftbench.publish.site.writer import TEMPLATES, Writer

if TYPE_CHECKING:
    from shiftbench.publish.leaderboard_entries import Entry

ASSETS = ("site.css", "site.js")
MARK = "assets/site.css"
"""A folder with this file is a site, which a new one may replace."""
PICTURED = "Unannounced shifts"
"""The question whose scores the start page draws."""
ILLUSTRATED = 5
"""Largest number of studies of which the start page of a user's results shows a figure."""


def write(
    results: Path,
    site: Path,
    configs: Sequence[Path] = (),
    others: Sequence[Entry] = (),
    documentation: str = "",
) -> SiteResults:
    """Write the site of a folder of results, replacing `site` as a whole; return its data.

    configs: files of configs other than `config/NAME.yaml`; others: entries of other people's
    crates, for the leaderboard; documentation: the address of a page to link to, seen from the
    folder of the site. Raises UserError, and writes nothing, if `site` is not a site, or
    without results.
    """
    if site.exists() and not (site / MARK).is_file() and (site.is_file() or any(site.iterdir())):
        raise UserError(f"{site}: exists and is not a site; name another folder with --to")
    collected = collect.collect(results, configs)
    with scratch.beside(site) as folder, charts.library() as library:
        _fill(folder / "site", collected, others, documentation)
        (folder / "site" / "assets" / "vega.js").write_text(library(), encoding="utf-8")
        if site.exists():
            site.rename(folder / "old")
        os.replace(folder / "site", site)
    return collected


def _fill(site: Path, results: SiteResults, others: Sequence[Entry], documentation: str) -> None:
    (site / "assets").mkdir(parents=True)
    for name in ASSETS:
        shutil.copyfile(TEMPLATES / name, site / "assets" / name)
    decided = situations.of(results)
    metrics = situations.metrics()
    ranked = {
        study.place: standings.of(study, metrics.get(study.name)) for study in results.studies
    }
    common: dict[str, Any] = {
        "results": results,
        "findings": {
            study.place: standings.finding(study, ranked[study.place]) for study in results.studies
        },
        "cells": matrix.cells(results, ranked),
        "datasets": dataset_page.used(results),
        "decided": decided,
        "counted_papers": verdict_counts.of(results),
        "by_label": _by_label(results),
        "has_leaderboard": bool(others),
        "documentation": documentation,
    }
    write = Writer(site, common)
    for template in ("papers", "methods", "datasets"):
        write(f"{template}.html", f"{template}.html")
    if decided:
        write("which-method.html", "which-method.html", head=situations.HEAD)
    if others:
        from shiftbench.publish.site import leaderboard  # what checks crates imports for seconds

        boards, unplaced = leaderboard.boards(results, ranked, others)
        write("leaderboard.html", "leaderboard.html", boards=boards, unplaced=unplaced)
    figures = _write_configs(write, results, ranked, common["cells"])
    if kinds := gallery.of(results.studies, figures):
        write("gallery.html", "gallery.html", kinds=kinds)
    leading = [one for one in common["counted_papers"] if one.key in bibliography.FIVE]
    if decided:
        write("index.html", "index.html", papers=leading, **_start(results, ranked, decided))
    else:  # results of a user, or of a small config
        judged = [one for one in leading if one.judged]
        values = {"figures": figures, "illustrated": ILLUSTRATED}
        write("own-results.html", "index.html", papers=judged, **values)
    _write_papers(write, results, decided, common["counted_papers"])
    for name in results.methods:
        write("method.html", f"methods/{name}.html", **method_page.of(name, results, ranked))
    for name, streams in common["datasets"].items():
        write("dataset.html", f"datasets/{name}.html", **dataset_page.of(name), streams=streams)
    search.write(site / "assets", results, common["counted_papers"], list(common["datasets"]))


def _start(
    results: SiteResults, ranked: Mapping[str, Standings], decided: Sequence[Decided]
) -> dict[str, Any]:
    found = board.of(results, ranked, decided)
    shown = next((one for one in found.columns if one.title == PICTURED), None)
    shown = shown or next(iter(found.columns), None)
    return {
        "board": found,
        "picture": picture.of(shown) if shown else None,
        "pictured": shown and shown.study,
    }


def _write_configs(
    write: Writer,
    results: SiteResults,
    ranked: Mapping[str, Standings],
    cells: dict[str, dict[str, matrix.MatrixCell]],
) -> dict[str, list[SiteFigure]]:
    """Write the studies of each config: their list, their pages, and the table of methods.

    Returns the figures of each study.
    """
    ranks = "Average ranks of methods over streams, 1 is best; a bar joins methods not separated"
    groups = matrix.groups(results, cells)
    for plan in results.plans:
        own = [group for group in groups if group.config == plan.name]
        for page in paging.cut(f"matrix/{plan.name}", own, matrix.words):
            write("matrix.html", page.address, plan=plan, page=page)
        last = plan is results.plans[-1]
        figures = [
            attachments.figure(path, write.site, "figures", ranks, attachments.has_svg(results))
            for path in (results.figures if last else ())
        ]
        listed = study_list.of(plan, results, ranked)
        for page in paging.cut(f"studies/{plan.name}", listed, study_list.words):
            write("studies.html", page.address, plan=plan, page=page, figures=figures)
    shown = {}
    for study in results.studies:
        shown[study.place] = study_pages.write(write, study, ranked[study.place], results)
    return shown


def _write_papers(
    write: Writer, results: SiteResults, decided: Sequence[Decided], counts: Sequence[PaperCounts]
) -> None:
    """Write two pages for each paper with claims, and the ledger to download."""
    data = write.site / "data"
    data.mkdir(parents=True, exist_ok=True)
    results.ledger.to_csv(data / "ledger.csv", index=False, lineterminator="\n")
    known = advice.Findings(results)
    for one in counts:
        rows = paper_page.rows_of(results, one.work.short)
        judged_in = set((rows["config"] + "/" + rows["study"])[rows["study"] != ""])
        write(
            "paper.html",
            f"papers/{one.key}.html",
            counts=one,
            summary=paper_page.summary(rows),
            named=paper_page.NAMED,
            advice=advice.of(one.key, decided, results),
            found=known.about(judged_in),
            appearing=known.giving_results(one.key),
            errors=paper_page.errors(one.key, results.library),
        )
        claimed = paper_page.claimed(rows)
        pages = list(paging.cut(f"papers/{one.key}-lines", claimed, paper_page.words))
        places = paper_page.addresses(pages)
        for page in pages:
            tables = paper_page.places(page.rows)
            write("paper-lines.html", page.address, counts=one, tables=tables, places=places)


def _by_label(results: SiteResults) -> list[str]:
    """Return the names of methods: those of the config first, then all others, by their labels."""

    def key(name: str) -> tuple[bool, str]:
        return name not in results.own_methods, str(results.methods[name].data["label"]).casefold()

    return sorted(results.methods, key=key)
