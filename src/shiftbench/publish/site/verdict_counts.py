"""Counts the claims of each paper by verdict, from the ledger."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pandas as pd

from shiftbench.config import bibliography
from shiftbench.config.bibliography import FIVE, Work
from shiftbench.evaluation.overview import ledger
from shiftbench.evaluation.scoring import verdicts
from shiftbench.publish.site.collect import SiteResults

UNDECIDED = (verdicts.UNRESOLVED, verdicts.MIXED)
CHECKS = frozenset(verdicts.CHECKED.values())


class PaperCounts(NamedTuple):
    """Numbers of a paper's claims by verdict; key: of the bibliography.

    unjudged: claims that were not run, or with too little or unknown training. checks: checks that
    hold; checks are not among the claims.
    """

    key: str
    work: Work
    reproduced: int
    contradicted: int
    undecided: int
    unjudged: int
    checks: int

    @property
    def claims(self) -> int:
        """The number of claims that are not checks."""
        return self.reproduced + self.contradicted + self.undecided + self.unjudged

    @property
    def judged(self) -> int:
        """The number of claims at a sufficient budget."""
        return self.claims - self.unjudged

    @property
    def sentence(self) -> str:
        """How far the paper holds, in a sentence."""
        if not self.judged:
            return f"None of {self.claims} claims can be judged yet."
        return (
            f"Of {self.claims} claims, {self.reproduced} are reproduced, {self.contradicted}"
            f" contradicted and {self.undecided} undecided; {self.unjudged} are not judged yet."
        )


def of(results: SiteResults) -> list[PaperCounts]:
    """Return the counts of each paper with claims; the five papers come first."""
    rows = results.ledger
    keys = list(dict.fromkeys(claim.work for claim in results.claims.values()))
    ordered = sorted(keys, key=lambda key: FIVE.index(key) if key in FIVE else len(FIVE))
    is_check = rows["claim"].map(lambda name: results.claims[name].check)
    of_paper = {key: rows["paper"] == bibliography.short(key) for key in ordered}
    return [_of(key, rows[one & ~is_check], rows[one & is_check]) for key, one in of_paper.items()]


def _of(key: str, rows: pd.DataFrame, checks: pd.DataFrame) -> PaperCounts:
    count = Counter(ledger.by_claim(rows))
    holding = list(ledger.by_claim(checks)).count(verdicts.CHECKED[verdicts.REPRODUCED])
    reproduced, contradicted = count[verdicts.REPRODUCED], count[verdicts.CONTRADICTED]
    undecided = sum(count[name] for name in UNDECIDED)
    rest = sum(count.values()) - reproduced - contradicted - undecided
    return PaperCounts(
        key, bibliography.works()[key], reproduced, contradicted, undecided, rest, holding
    )
