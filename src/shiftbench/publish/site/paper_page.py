"""Content of the pages of a paper: what holds and what does not, and its claims line by line.

Numbers are in the paper's units: fractions are in percent where the paper prints any in percent.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shiftbench.config import claims, components, metric_words
from shiftbench.config.claim_schema import Finding
from shiftbench.config.library import Library
from shiftbench.evaluation.overview import ledger
from shiftbench.evaluation.scoring import units, verdicts
from shiftbench.publish.site import paging
from shiftbench.publish.site.collect import SiteResults
from shiftbench.publish.site.paging import TablePage
from shiftbench.publish.site.verdict_counts import CHECKS, UNDECIDED

PLACE = re.compile(r"(Table|Figure|Fig\.|Theorem)\s*(\d+)")
NUMBER = re.compile(r"\d*\.\d+|\d+")
TEXT = "In the text"
"""The place of claims that are in no table, figure or theorem."""
LEAST_SHOWN = 0.01
"""The smallest share of the paper's training that is shown, in percent."""
NAMED = 3
"""The most claims of a kind on the first page; all are on the second."""


class Line(NamedTuple):
    """A claim on a stream. gated: we train on too little for a verdict; link: to the study.

    votes: of the studies and streams that disagree about it, in words; empty if none do.
    """

    says: str
    where: str
    printed: str
    ours: str
    interval: str
    stream: str
    share: str
    seeds: str
    verdict: str
    gated: bool
    why: str
    link: str
    votes: str = ""


class ClaimsOfPlace(NamedTuple):
    """The claims of a table, figure or theorem; lines: by claim."""

    name: str
    lines: list[list[Line]]

    @property
    def anchor(self) -> str:
        """The id of its heading."""
        return self.name.lower().replace(" ", "-")


class Summary(NamedTuple):
    """Claims by how far they hold, each with the line that was trained most.

    waiting: reasons why claims have no verdict yet, with their numbers.
    """

    holds: list[Line]
    fails: list[Line]
    undecided: list[Line]
    waiting: dict[str, int]


def claimed(rows: pd.DataFrame) -> list[list[Line]]:
    """Return the lines of each claim of a paper, in the order of its tables."""
    percent = _in_percent(rows)
    found = []
    for records in _by_claim(rows).values():
        lines = [_line(row, percent) for row in records]
        if lines[0].verdict in CHECKS and lines[0].link:
            lines = [_checked(lines)]
        found.append(lines)
    return sorted(found, key=lambda lines: _order(_place(lines[0].where)))


def places(claimed: Sequence[list[Line]]) -> list[ClaimsOfPlace]:
    """Return claims by table, figure or theorem, in the order of the paper."""
    by_place: dict[str, list[list[Line]]] = {}
    for lines in claimed:
        by_place.setdefault(_place(lines[0].where), []).append(lines)
    return [ClaimsOfPlace(place, of_place) for place, of_place in by_place.items()]


def addresses(pages: Iterable[TablePage]) -> dict[str, str]:
    """Return where the claims of each table, figure or theorem begin."""
    found: dict[str, str] = {}
    for page in pages:
        for place in places(page.rows):
            found.setdefault(place.name, f"{page.address}#{place.anchor}")
    return found


def words(lines: Sequence[Line]) -> int:
    """Return the number of words that a claim takes in a table."""
    own = [lines[0].says, lines[0].where, lines[0].printed]
    cells = [(one.ours or one.why, one.interval, one.stream, one.share, one.seeds, one.verdict)
             for one in lines]  # fmt: skip
    return paging.words([*own, *(text for row in cells for text in row)])


def summary(rows: pd.DataFrame) -> Summary:
    """Return what holds, what does not, and what is open, a line for each claim; no checks."""
    percent = _in_percent(rows)
    rows = ledger.without_checks(rows)
    verdict = ledger.by_claim(rows).droplevel("paper")
    by_kind: dict[str, list[Line]] = {}
    waiting: Counter[str] = Counter()
    for name, records in _by_claim(rows).items():
        kind = verdict[name]
        if kind in verdicts.NO_VERDICT:
            waiting[_waiting(kind, records)] += 1
            continue
        decided = [row for row in records if row["verdict"] not in verdicts.NO_VERDICT]
        most = max(decided, key=lambda row: float(row["share"] or 0))
        votes = _votes(decided) if kind == verdicts.MIXED else ""
        line = _line(most, percent)._replace(verdict=kind, votes=votes)
        by_kind.setdefault(kind, []).append(line)
    undecided = [line for kind in UNDECIDED for line in by_kind.get(kind, [])]
    reproduced, contradicted = (
        by_kind.get(kind, []) for kind in (verdicts.REPRODUCED, verdicts.CONTRADICTED)
    )
    return Summary(reproduced, contradicted, undecided, dict(waiting.most_common()))


def _by_claim(rows: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each claim, in their order; all at once, since pandas is slow for few."""
    grouped: dict[str, list[Any]] = {}
    for row in rows.to_dict("records"):
        grouped.setdefault(row["claim"], []).append(row)
    return grouped


def errors(key: str, library: Library) -> list[Finding]:
    """Return what is wrong in the paper or its public code, misprints first."""
    found = [finding for work, finding in claims.findings(library) if work == key]
    return sorted(found, key=lambda one: one.kind != "misprint")


def rows_of(results: SiteResults, short: str) -> pd.DataFrame:
    """Return the rows of the ledger about a paper."""
    return results.ledger[results.ledger["paper"] == short]


def _line(row: dict[str, Any], percent: bool) -> Line:
    of_fraction = percent and units.shown_unit(row["metric"]) == "%"
    ours = [_in_units(part, of_fraction) for part in filter(None, row["scores"].split("; "))]
    link = f"studies/{row['config']}/{row['study']}.html#claims" if row["study"] else ""
    gated = row["verdict"] in verdicts.NO_VERDICT
    place, interval = _deciding(row, of_fraction)
    if place is not None:
        ours[place], interval = f"{ours[place]} {interval}", ""
    return Line(
        row["says"], row["where"], row["printed"], "; ".join(ours), interval, row["stream"],
        _share(row), row["seeds"], row["verdict"], gated, row["ours_may"], link,
    )  # fmt: skip


def _votes(decided: list[dict[str, Any]]) -> str:
    """Return how many studies and streams give which verdict."""
    counts = Counter(row["verdict"] for row in decided).most_common()
    in_words = ", ".join(f"{verdict} on {number}" for verdict, number in counts)
    return f"{in_words} of {len(decided)} studies and streams"


def _share(row: dict[str, Any]) -> str:
    """Return our share of the paper's training in percent."""
    if not row["study"]:
        return "none"
    if not row["share"]:
        return "unknown"
    share = 100 * float(row["share"])
    return f"{min(share, 100):.3g} %" if share >= LEAST_SHOWN else f"below {LEAST_SHOWN} %"


def _deciding(row: dict[str, Any], of_fraction: bool) -> tuple[int | None, str]:
    """Return the place among the scores of the one that decides, and its interval.

    Where a difference of scores decides, or the share of them above a bound, the place is None, and
    the text has this number, too. It is empty without an interval.
    """
    if not row["low"] or row["low"] == row["high"]:
        return None, ""
    relative = row["measured"].startswith("(")
    scale = 100 if of_fraction or relative else 1
    mean, low, high = (_short(scale * float(row[name])) for name in ("ours", "low", "high"))
    if " - " in row["measured"]:
        of_two = row["scores"].count("; ") == 1
        name = "difference" if of_two else f"{row['measured']}:"
        return None, f"{name} {mean}{' %' if relative else ''} [{low}, {high}]"
    place = _place_of(float(row["ours"]), row["scores"])
    return place, f"[{low}, {high}]" if place is not None else f"share {mean} [{low}, {high}]"


def _place_of(number: float, scores: str) -> int | None:
    """Return the place of a number among scores, "LABEL NUMBER; ...", to their four digits."""
    numbers = [float(part.rpartition(" ")[2]) for part in scores.split("; ")]
    place = min(range(len(numbers)), key=lambda i: abs(numbers[i] - number))
    return place if math.isclose(numbers[place], number, rel_tol=1e-3) else None


def _short(value: float) -> str:
    """Return a number with three significant digits; from 1000 on, rounded to an integer."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return np.format_float_positional(value, 3, fractional=False, trim="-")


def _in_units(part: str, of_fraction: bool) -> str:
    """Return "LABEL NUMBER" as "LABEL: NUMBER", with fractions in percent; keep other texts."""
    label, _, number = part.rpartition(" ")
    try:
        value = float(number)
    except ValueError:
        return part
    if label in components.names("metrics"):
        label = metric_words.words(label)
    if of_fraction:
        return f"{label}: {100 * value:.1f} %"
    return f"{label}: {np.format_float_positional(value) if 'e' in number else number}"


def _in_percent(rows: pd.DataFrame) -> bool:
    """Return whether a paper prints fractions in percent: some number above 1."""
    pairs = zip(rows["printed"], rows["metric"], strict=True)
    printed = [text for text, metric in pairs if units.shown_unit(metric) == "%"]
    return any(float(number) > 1 for text in printed for number in NUMBER.findall(text))


def _checked(lines: Sequence[Line]) -> Line:
    """Return one line for a check on all its streams."""
    holds = verdicts.CHECKED[verdicts.REPRODUCED]
    failing = [line for line in lines if line.verdict != holds]
    worst = failing[0] if failing else lines[0]
    ours = f"holds on {len(lines) - len(failing)} of {len(lines)} streams"
    return worst._replace(ours=ours, interval="", stream="", share="", seeds="")


def _place(where: str) -> str:
    found = PLACE.search(where)
    return f"{found[1].replace('Fig.', 'Figure')} {found[2]}" if found else TEXT


def _order(place: str) -> tuple[int, int]:
    """Return the sort key of a place: tables, then figures, then theorems, by number."""
    kinds = ["Table", "Figure", "Theorem", "In"]
    number = NUMBER.search(place)
    return kinds.index(place.split()[0]), int(number.group()) if number else 0


def _waiting(kind: str, records: Sequence[dict[str, Any]]) -> str:
    """Return the reason why a claim has no verdict."""
    if kind == verdicts.NOT_RUN:
        return records[0]["ours_may"].rstrip(".") or "no study here judges it"
    if kind == verdicts.UNKNOWN:
        return "the paper reports no such experiment, or not how long it trains"
    most = max(float(row["share"] or 0) for row in records)
    ends = {0.1: "a quarter", 0.01: "a tenth", 0.001: "a hundredth", 0.0: "a thousandth"}
    below = next(words for least, words in ends.items() if most >= least)
    return f"we train on less than {below} of what the paper trains on"
