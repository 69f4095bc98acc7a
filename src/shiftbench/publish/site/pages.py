"""Write the site: collect results, fill the templates, and replace the folder at once."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from shiftbench.core.errors import UserError
from shiftbench.data.store import raw, scratch
from shiftbench.evaluation.scoring import verdicts
from shiftbench.publish.leaderboard_entries import Entry
from shiftbench.publish.site import (
    attachments,
    charts,
    collect,
    dataset_page,
    leaderboard,
    matrix,
    method_page,
    method_styles,
    standings,
    study_page,
)
from shiftbench.publish.site.collect import Results, SiteStudy
from shiftbench.publish.site.standings import Standings

TEMPLATES = Path(__file__).with_name("templates")
ASSETS = ("site.css", "site.js")
MARK = "assets/site.css"
"""A folder with this file is a site, which a new one may replace."""
VERDICT_MARKS = {
    verdicts.REPRODUCED: "●",
    verdicts.CONTRADICTED: "✖",
    verdicts.UNRESOLVED: "◆",
    verdicts.TOO_LITTLE: "■",
    verdicts.UNKNOWN: "▦",
    verdicts.NOT_RUN: "□",
    **dict.fromkeys(verdicts.CHECKED.values(), "✓"),
}
"""Signs before the names of verdicts."""


def write(
    results: Path, site: Path, configs: Sequence[Path] = (), others: Sequence[Entry] = ()
) -> Results:
    """Write the site of a folder of results, replacing `site` as a whole; return its data.

    configs: files of configs other than `config/NAME.yaml`; others: entries of other people's
    crates, for the leaderboard. Raises UserError, and writes nothing, if `site` is not a site, or
    without results.
    """
    if site.exists() and not (site / MARK).is_file() and (site.is_file() or any(site.iterdir())):
        raise UserError(f"{site}: exists and is not a site; name another folder with --to")
    collected = collect.collect(results, configs)
    with scratch.beside(site) as folder:
        _fill(folder / "site", collected, others)
        if site.exists():
            site.rename(folder / "old")
        os.replace(folder / "site", site)
    return collected


def _fill(site: Path, results: Results, others: Sequence[Entry]) -> None:
    environment = _environment()
    (site / "assets").mkdir(parents=True)
    for name in ASSETS:
        shutil.copyfile(TEMPLATES / name, site / "assets" / name)
    (site / "assets" / "vega.js").write_text(charts.library(), encoding="utf-8")
    ranked = {study.place: standings.of(study, results.library) for study in results.studies}
    findings = {
        study.place: standings.finding(study, ranked[study.place]) for study in results.studies
    }
    cells = matrix.cells(results, ranked)
    datasets = dataset_page.used(results)
    common = {"results": results, "findings": findings, "cells": cells, "datasets": datasets}
    common["has_leaderboard"] = bool(others)

    def page(template: str, place: str, **values: Any) -> None:
        path = site / place
        path.parent.mkdir(parents=True, exist_ok=True)
        root = "../" * place.count("/")
        text = environment.get_template(template).render(**common, root=root, here=place, **values)
        path.write_text(text, encoding="utf-8")

    page("index.html", "index.html", **_start(results, cells, site))
    if others:
        boards, unplaced = leaderboard.boards(results, ranked, others)
        page("leaderboard.html", "leaderboard.html", boards=boards, unplaced=unplaced)
    for study in results.studies:
        page(
            "study.html",
            f"studies/{study.place}.html",
            **_study(study, ranked[study.place], results, site),
        )
    for name in results.library.methods:
        page("method.html", f"methods/{name}.html", **method_page.of(name, results, ranked))
    for name, streams in datasets.items():
        page(
            "dataset.html",
            f"datasets/{name}.html",
            name=name,
            dataset=raw.table()[name],
            streams=streams,
        )


def _start(
    results: Results, cells: dict[str, dict[str, matrix.MatrixCell]], site: Path
) -> dict[str, Any]:
    ranks = "Average ranks of methods over streams, 1 is best; methods under one bar are not apart"
    return {
        "groups": matrix.groups(results, cells),
        "ledger": results.ledger.to_dict("records"),
        "figures": [attachments.figure(path, site, "figures", ranks) for path in results.figures],
    }


def _study(study: SiteStudy, ranked: Standings, results: Results, site: Path) -> dict[str, Any]:
    judged = results.ledger
    judged = judged[(judged["config"] == study.plan.name) & (judged["study"] == study.name)]
    rows = study_page.rows(study, ranked, results)
    return {
        "study": study,
        "standings": ranked,
        "rows": rows,
        "claims": judged.to_dict("records"),
        "metrics": study_page.metrics(study, ranked),
        "papers": study_page.papers(rows),
        "facts": study_page.facts(study),
        "command": study_page.command(study),
        "settings": study_page.settings(study),
        "streams": study_page.streams(study),
        "tables": list(study_page.tables(study)),
        "figures": attachments.figures(study, ranked, site),
        "downloads": attachments.downloads(study, site),
        "chart": charts.chart(
            study,
            ranked.metric or study.metrics[0],
            method_styles.of_study(study.planned, study.learners),
        ),
    }


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["json"] = _json
    environment.globals["verdict_marks"] = VERDICT_MARKS
    environment.globals["distinct"] = lambda values: list(dict.fromkeys(filter(None, values)))
    return environment


def _json(value: Any) -> str:
    """Return JSON for a script element, which no text inside can end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")
