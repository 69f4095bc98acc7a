"""Writes the pages of a study: what a reader needs first, and its details, scores and tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

from shiftbench.publish.site import attachments, charts, method_styles, paging, study_page
from shiftbench.publish.site.attachments import SiteFigure
from shiftbench.publish.site.collect import SiteResults, SiteStudy
from shiftbench.publish.site.standings import Standings
from shiftbench.publish.site.writer import Writer


def write(
    writer: Writer, study: SiteStudy, standings: Standings, results: SiteResults
) -> list[SiteFigure]:
    """Write all pages of a study; return its figures."""
    address = f"studies/{study.place}"
    content = _content(writer, study, standings, results)
    writer("study.html", f"{address}.html", **content)
    writer("study-details.html", f"{address}_details.html", **content)
    settings = list(study_page.settings(study).items())
    for page in paging.cut(f"{address}_settings", settings, paging.words):
        writer("study-settings.html", page.address, part="settings", page=page, **content)
    if content["by_method"]:
        for page in paging.cut(f"{address}_scores", content["rows"], _words_of_scores):
            writer("study-all-scores.html", page.address, part="all scores", page=page, **content)
    if len(content["claims"]) > study_page.MOST_CLAIMS:
        for page in paging.cut(f"{address}_claims", content["claims"], _words_of_claim):
            writer("study-claims.html", page.address, part="claims", page=page, **content)
    for table in content["tables"]:
        for page in paging.cut(f"{address}_table-{table.name}", table.rows, paging.words):
            writer(
                "study-table.html", page.address, part=table.name, page=page, table=table, **content
            )
    return content["figures"]


def _content(
    writer: Writer, study: SiteStudy, standings: Standings, results: SiteResults
) -> dict[str, Any]:
    """Return the values that the pages of a study share."""
    judged = results.ledger
    judged = judged[(judged["config"] == study.plan.name) & (judged["study"] == study.name)]
    rows = study_page.rows(study, standings, results)
    with_svg = attachments.has_svg(results)
    copied = attachments.figures(study, standings, writer.site, with_svg)
    figures, of_figures = attachments.shared_sentences(copied, study.planned.cuts)
    return {
        "study": study,
        "standings": standings,
        "rows": rows,
        "by_method": study_page.by_method(rows, standings),
        "claims": judged.to_dict("records"),
        "verdicts": dict(Counter(judged["verdict"])),
        "most_claims": study_page.MOST_CLAIMS,
        "metrics": study_page.metrics(study, standings),
        "papers": study_page.papers(rows),
        "facts": study_page.facts(study),
        "command": study_page.command(study),
        "families": study_page.families(study),
        "tables": list(study_page.tables(study)),
        "figures": figures,
        "of_figures": of_figures,
        "downloads": attachments.downloads(study, writer.site),
        "chart": charts.chart(
            study,
            standings.metric or study.metrics[0],
            method_styles.of_study(study.planned, study.methods),
        ),
    }


def _words_of_scores(row: study_page.ScoreRow) -> int:
    cells = [text for one in row.numbers.values() for text in (one.text, one.paper, one.note)]
    own = [row.label, row.stream, row.rank, row.state, row.tuned, row.status, *row.verdicts]
    return paging.words([*own, *cells])


def _words_of_claim(row: dict[str, Any]) -> int:
    return paging.words([str(value) for value in row.values()])
