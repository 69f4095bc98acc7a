"""Advice on the methods of a paper, computed from situations and findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter

from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import comparison
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.publish.derived import evidence, findings
from shiftbench.publish.derived.evidence import Evidence, PublishedResults
from shiftbench.publish.site.collect import SiteResults
from shiftbench.publish.site.situations import Decided

LINKS = re.compile(r"\s*\(\[[^)]*\)(?:, \[[^)]*\))*\)|\[([^]]*)\]\([^)]*\)")
"""Links to files of the repository, which are removed because the pages lack these files."""
SHOWN, FOUND = 5, 3
"""The most situations and findings that a page shows."""


def of(key: str, decided: Sequence[Decided], results: SiteResults) -> list[str]:
    """Return where a method of a paper leads, where it shares the lead, and what beats it."""
    cited = {name for name, one in results.library.methods.items() if key in one.data["cite"]}
    sentences = []
    for one in decided:
        for found in one.rankings:
            own = [name for name in found.scores if one.study.library_method(name) in cited]
            if own and len(found.scores) > 1:
                sentences.append((found.leader != own[0], _sentence(one, found, own)))
    leading_first = sorted(dict.fromkeys(sentences), key=itemgetter(0))
    return [text for _, text in leading_first][:SHOWN]


class Findings:
    """The sentences of docs/findings.yaml, with the numbers of a folder of results."""

    def __init__(self, results: SiteResults) -> None:
        path = checkout.HOME / "docs" / "findings.yaml"
        self._all = findings.load(path) if path.exists() else {}
        self._published = PublishedResults(results.studies[0].folder.parents[2])

    def about(self, claimed: set[str]) -> list[str]:
        """Return sentences about studies that judge a paper's claims, given as CONFIG/STUDY.

        Without those of `giving_results`.
        """
        names = [
            name
            for name, one in self._all.items()
            if not one.gives_results_of and {row.study for row in one.rests_on.values()} <= claimed
        ]
        return [*islice(self._sentences(names), FOUND)]

    def giving_results(self, key: str) -> list[str]:
        """Return sentences on the settings with which the results of a paper appear."""
        names = [name for name, one in self._all.items() if one.gives_results_of == key]
        return [*self._sentences(names)]

    def _sentences(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            try:
                sentence = findings.sentence(name, self._all[name], self._published)
            except (UserError, OSError):  # not supported by these results
                continue
            yield LINKS.sub(r"\1", sentence).strip()


def _sentence(one: Decided, found: StreamRanking, own: Sequence[str]) -> str:
    """Return the sentence about the best of a paper's methods in a situation."""
    label, best, first = one.study.label, found.leader, own[0]
    assert best is not None
    where = one.entry.situation
    if first == best:
        return f"{where}: {label(first)} has the best mean."
    row = Evidence(study=one.entry.study, metric=one.entry.metric)
    lead = found.leads[first].over.difference.mean
    by = evidence.number(lead, row)
    if why := comparison.untested(found.scores[name] for name in (best, first)):
        ahead = f"is {by} ahead of" if lead else "has the same mean as"
        return f"{where}: {label(best)} {ahead} {label(first)}; {why}, so no test."
    if first in found.tied:
        return f"{where}: {label(first)} is not significantly worse than {label(best)}."
    return f"{where}: {label(best)} is better than {label(first)} by {by}."
