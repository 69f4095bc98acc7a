"""What the search box finds: the names of pages with their addresses, as a script of the site."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from shiftbench.publish.site.collect import SiteResults
from shiftbench.publish.site.verdict_counts import PaperCounts


def write(
    assets: Path, results: SiteResults, papers: Sequence[PaperCounts], datasets: Sequence[str]
) -> None:
    """Write names and addresses, from the root of the site, to the script `pages.js`."""
    pages = [*_pages(results, papers, datasets)]
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (assets / "pages.js").write_text(f"const sitePages = {text};\n", encoding="utf-8")


def _pages(
    results: SiteResults, papers: Sequence[PaperCounts], datasets: Sequence[str]
) -> Iterator[tuple[str, str]]:
    for name, method in results.methods.items():
        label = str(method.data["label"])
        shown = label if label.lower() == name else f"{label} ({name})"
        yield f"{shown}: method", f"methods/{name}.html"
    for study in results.studies:
        yield f"{study.planned.title} ({study.place}): study", f"studies/{study.place}.html"
    for one in papers:
        yield f"{one.work.short} {one.work.title} ({one.key}): paper", f"papers/{one.key}.html"
    for name in datasets:
        yield f"{name}: data set", f"datasets/{name}.html"
