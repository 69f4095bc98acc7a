"""The list of a config's studies, each with the method that is best on most of its streams."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from shiftbench.config import metric_words
from shiftbench.publish.site import paging
from shiftbench.publish.site.collect import SiteConfig, SiteResults, SiteStudy
from shiftbench.publish.site.standings import Standings

TUNED_ALIKE = re.compile(r", (every method |all )?tuned alike$")
"""The end of a title which says that the study is tuned."""


class ListedStudy(NamedTuple):
    """A study. best: label of the method, empty where no metric has a better direction."""

    study: SiteStudy
    title: str
    metric: str | None
    best: str


def of(
    plan: SiteConfig, results: SiteResults, ranked: Mapping[str, Standings]
) -> list[ListedStudy]:
    """Return the studies of a config with results, tuned ones first."""
    own = [study for study in results.studies if study.plan is plan]
    own.sort(key=lambda study: study.planned.tuning is None)
    return [_of(study, ranked[study.place]) for study in own]


def words(one: ListedStudy) -> int:
    """Return the number of words that a study takes in the list."""
    metric = metric_words.words(one.metric) if one.metric else ""
    return paging.words([one.title, one.study.name, one.best, metric, "methods", "seeds", "tuned"])


def short_title(title: str, tuned: bool) -> str:
    """Return the title of a study as in the list, where a column says which studies are tuned."""
    return TUNED_ALIKE.sub("", title) if tuned else title


def _of(study: SiteStudy, known: Standings) -> ListedStudy:
    title = short_title(study.planned.title, study.planned.tuning is not None)
    leaders = Counter(study.label(cell.leader) for cell in known.cells.values() if cell.leader)
    best = leaders.most_common(1)
    if not best:
        return ListedStudy(study, title, known.metric, "")
    ((label, times),) = best
    several = f" on {times} of {len(known.cells)} streams" if len(known.cells) > 1 else ""
    return ListedStudy(study, title, known.metric, label + several)
