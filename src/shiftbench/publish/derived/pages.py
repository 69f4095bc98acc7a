"""Write the result sentences and tables of Markdown pages between markers.

<!-- finding: NAME -->the sentence<!-- /finding -->
<!-- table: NAME -->the table<!-- /table -->

A sentence about a study of our configs that has no published results yet is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pandas as pd

from shiftbench.config import bibliography
from shiftbench.config.library import OURS, Library
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.evaluation.overview import ledger
from shiftbench.evaluation.scoring import verdicts
from shiftbench.publish.derived import findings, paper_hours, which_method
from shiftbench.publish.derived.evidence import PublishedResults, Unpublished

MARKER = re.compile(
    r"(<!-- (?P<kind>finding|table): (?P<name>[\w-]+) -->)(?P<text>.*?)(<!-- /(?P=kind) -->)",
    re.DOTALL,
)
TYPED = re.compile(r"\d (?:percentage )?points?\b|\[-?\d*\.\d+, -?\d*\.\d+\]")
"""Differences and intervals, which a page with markers may have only between these."""
OPENED = re.compile(r"<!-- /?(?:finding|table)\b")
CONFIGS = ("embedded", "cpu", "paper")


def fill(root: Path, published: PublishedResults) -> list[str]:
    """Write sentences and tables between the markers of all pages of a checkout, in place.

    Returns the problems, one text each.
    """
    sentences = findings.load(root / "docs" / "findings.yaml")
    paths = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return [text for page in paths for text in _fill(root, page, sentences, published)]


def _fill(
    root: Path,
    page: Path,
    sentences: dict[str, findings.ComputedSentence],
    published: PublishedResults,
) -> list[str]:
    text, problems = page.read_text(encoding="utf-8"), []
    where = page.relative_to(root)

    def written(marker: re.Match[str]) -> str:
        kind, name = marker["kind"], marker["name"]
        try:
            content = _content(kind, name, sentences, root, published)
        except UserError as error:
            problems.append(f"{where}: {error}")
            return marker[0]
        # Markdown does not format a line that begins with a marker, so text gets its own line.
        around = "\n\n" if kind == "table" else "\n" * marker["text"].startswith("\n")
        return f"{marker[1]}{around}{content}{around}{marker[5]}"

    new = MARKER.sub(written, text)
    if len(OPENED.findall(text)) != 2 * len(MARKER.findall(text)):
        problems.append(f"{where}: a marker has no end; close it with <!-- /finding --> or /table")
    if (typed := TYPED.search(MARKER.sub("", text))) and MARKER.search(text):
        problems.append(
            f'{where}: the result "{typed.group()}" is typed; write it as a finding'
            " (docs/findings.yaml) between markers"
        )
    if new != text:
        atomic_files.write(page, new)
    return problems


def _content(
    kind: str,
    name: str,
    sentences: dict[str, findings.ComputedSentence],
    root: Path,
    published: PublishedResults,
) -> str:
    names: Mapping[str, object] = TABLES if kind == "table" else sentences
    if name not in names:
        raise UserError(f'no {kind} is called "{name}"; there are {", ".join(names)}')
    if kind == "table":
        return TABLES[name](root, published)
    try:
        return findings.sentence(name, sentences[name], published)
    except Unpublished as missing:
        if missing.study in _planned():
            return ""
        raise UserError(f"finding {name}: {missing}") from None


def _planned() -> set[str]:
    """Return the studies CONFIG/STUDY of our configs."""
    return {f"{name}/{study}" for name in CONFIGS for study in Library(OURS).planned(name)}


def papers(root: Path, published: PublishedResults, alone: Collection[str] = ()) -> str:
    """Return the table of verdicts by paper: claims and, in brackets, rows of the ledger.

    alone: short names of the papers that have a line each, all others sharing one; empty for all.
    """
    rows = ledger.without_checks(published.ledger())
    judged = ledger.by_claim(rows).reset_index()
    kinds = [*verdicts.VERDICTS[:3], verdicts.MIXED, *verdicts.VERDICTS[3:]]
    lines = []
    for paper, of_line in _groups([*dict.fromkeys(rows["paper"])], alone).items():
        claims, of_paper = (table[table["paper"].isin(of_line)] for table in (judged, rows))
        lines.append([paper, *(_counted(claims, of_paper, kind) for kind in kinds)])
    heads = [kind.removeprefix("budget ") for kind in kinds]  # so that a line fits on a screen
    table = _table(["paper", *heads], lines)
    return (
        f"{table}\n\nThe first number counts claims. The number in brackets counts comparisons,"
        " including those of mixed claims: a claim has one for each study and stream that can test"
        " it. Mixed: the comparisons of a"
        " claim disagree."
    )


def _groups(names: list[str], alone: Collection[str]) -> dict[str, list[str]]:
    """Return the papers of each line by its name: single ones, other ones if any, and all."""
    others = [name for name in names if alone and name not in alone]
    lines = {name: [name] for name in names if name not in others}
    return lines | ({f"{len(others)} others": others} if others else {}) | {"all": names}


def five_papers(root: Path, published: PublishedResults) -> str:
    """Return the table of verdicts with a line for each of the five papers."""
    return papers(root, published, [bibliography.short(key) for key in bibliography.FIVE])


def _counted(claims: pd.DataFrame, rows: pd.DataFrame, kind: str) -> str:
    number, judgements = ((table["verdict"] == kind).sum() for table in (claims, rows))
    if kind in (verdicts.MIXED, verdicts.NOT_RUN):
        return str(number)
    return f"{number} ({judgements})"


def configs(root: Path, published: PublishedResults) -> str:
    """Return the table of our configs: studies, published runs, processor time and memory."""
    costs, lines = published.costs(), []
    for name in CONFIGS:
        own = costs[costs["config"] == name]
        hours = published.hours(name) if len(own) else "never run as a whole"
        runs = f"{own['runs'].sum():,}" if len(own) else "-"
        memory = published.largest_memory(name) if len(own) else "-"
        lines.append([f"`{name}`", str(len(Library(OURS).planned(name))), runs, hours, memory])
    head = ["config", "studies", "runs", "processor time, measured", "largest job's memory"]
    return _table(head, lines)


def situations(root: Path, published: PublishedResults) -> str:
    """Return a heading and a table of the methods that lead, for each situation."""
    sections = []
    for one in which_method.situations(root, published):
        config, _, name = one.study.partition("/")
        table = _table(which_method.HEAD, [list(line) for line in one.lines], numbers=False)
        said = f"{one.judged} Study: `{name}` ({config})."
        sections.append(f"## {one.situation}\n\n{said}\n\n{table}")
    return "\n\n".join(sections)


def works(root: Path, published: PublishedResults) -> str:
    """Return the list of all works that code, configs and captions cite."""
    return bibliography.as_markdown()


def hours(root: Path, published: PublishedResults) -> str:
    """Return the table of what each study of the config `paper` would cost, and the sum."""
    lines, total = paper_hours.of_studies(published)
    return f"{_table(paper_hours.HEAD, lines)}\n\n{total}"


def hours_of_fits(root: Path, published: PublishedResults) -> str:
    """Return the table of what a run costs under the protocol of li2021vbs, and more cheaply."""
    head = ["core-hours of a run, forecast", *(f"`{study}`" for study in paper_hours.FITS)]
    return _table(head, paper_hours.of_fits(published))


def cheaper_fits(root: Path, published: PublishedResults) -> str:
    """Return the table of approximate fits: their cost, and the accuracy that they lose."""
    head = ["fit", "one run", "ELBO, nats a task", "accuracy, points"]
    return _table(head, paper_hours.of_cheaper_fits(published))


TABLES: Mapping[str, Callable[[Path, PublishedResults], str]] = {
    "papers": papers,
    "five-papers": five_papers,
    "configs": configs,
    "which-method": situations,
    "works": works,
    "paper-hours": hours,
    "paper-hours-of-fits": hours_of_fits,
    "cheaper-fits": cheaper_fits,
}
"""Function that writes a table of a page, by name."""


def _table(head: list[str], lines: list[list[str]], numbers: bool = True) -> str:
    """Return a table of Markdown; numbers: all columns but the first are aligned as numbers."""
    rows = [head, ["---", *["---:" if numbers else "---"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
