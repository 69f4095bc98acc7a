"""Tables of docs/which-method.md: the method that leads in each situation, and what it costs.

A situation of docs/situations.yaml has the study whose scores decide. Methods that
keep rows of earlier tasks are ranked apart from those that keep none, because a memory is a cost
that the reader decides on. Over several streams, the score of a seed is the mean over the streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from shiftbench.config import config_file, method_costs, method_needs
from shiftbench.config.compatibility_words import listed
from shiftbench.config.schema import Study
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import comparison, ranking, units
from shiftbench.evaluation.scoring.ranking import StreamRanking
from shiftbench.publish.derived import evidence
from shiftbench.publish.derived.evidence import Evidence, PublishedResults, Scores

HEAD = ["rows kept", "best", "not significantly worse", "ahead of", "cost"]
MEMORY = "a memory of "
"""Beginning of the need of a memory, as `method_needs` writes it."""
NAMED, LONGEST = 2, 40
"""The most tied methods that a line names, and the most characters of their names; others are only
counted."""
SHORT_UNITS = ("%", "nats")
"""Units that are short enough to be shown after a number."""


class Situation(BaseModel):
    """A situation, and which published scores decide it.

    question: the column of the site's board that it fills, if it fills one. measured: the metric,
    in plain words.
    """

    model_config = ConfigDict(extra="forbid")

    situation: str
    question: str = ""
    measured: str
    study: str
    stream: str = "*"
    metric: str


class Line(NamedTuple):
    """A line of a table, as text; the columns are those of HEAD."""

    kept: str
    best: str
    tied: str
    lead: str
    cost: str


class Ranked(NamedTuple):
    """A situation with its lines: methods that keep no rows of earlier tasks, and those that do.

    study: as CONFIG/STUDY. judged: the score that decides, the seeds, and whether settings were
    tuned, in words. rankings: of the methods of each line.
    """

    situation: str
    study: str
    judged: str
    lines: list[Line]
    rankings: list[StreamRanking]


def load(root: Path) -> list[Situation]:
    """Return the situations of a checkout. Raises UserError for a file of another form."""
    path = root / "docs" / "situations.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return TypeAdapter(list[Situation]).validate_python(content)
    except (ValidationError, yaml.YAMLError) as error:
        raise UserError(f"{path}: {error}") from None


def situations(root: Path, published: PublishedResults) -> list[Ranked]:
    """Return what leads in each situation of a checkout, by published scores."""
    found = []
    for one in load(root):
        config, _, name = one.study.partition("/")
        study = _config(checkout.CONFIGS / f"{config}.yaml").studies[name]
        row = Evidence(study=one.study, metric=one.metric, streams=one.stream)
        found.append(ranked(one, study, list(published.by_stream(row).values())))
    return found


def ranked(situation: Situation, study: Study, by_stream: Sequence[Scores]) -> Ranked:
    """Return what leads in a situation, by the scores [seed] of its study on each stream."""
    row = Evidence(study=situation.study, metric=situation.metric)
    scores = mean_over_streams(by_stream)
    needs = {
        name: method_needs.of([{part: settings} for part, settings in method.pipeline])
        for name, method in study.methods.items()
        if name in scores and not method.bound
    }
    keeps = {name: any(need.startswith(MEMORY) for need in needs[name]) for name in needs}
    groups = [[name for name in keeps if keeps[name] == kind] for kind in (False, True)]
    rankings = [
        ranking.rank("", {name: scores[name] for name in group}, row.metric)
        for group in groups
        if group
    ]
    lines = [_line(row, study, one, needs) for one in rankings]
    direction = "higher" if ranking.higher_is_better(row.metric) else "lower"
    seeds = len(next(iter(scores.values())))
    alike = comparison.untested(scores.values()) == comparison.ALIKE
    untested = ", so no test" if seeds == 1 else ", all alike, so no test" if alike else ""
    judged = (
        f"By {situation.measured} (`{row.metric}`), {direction} is better;"
        f" {seeds} {'seeds' if seeds > 1 else 'seed'}{untested};"
        f" {'tuned' if study.tuning else 'published settings, not tuned'}."
    )
    return Ranked(situation.situation, situation.study, judged, lines, rankings)


def _line(row: Evidence, study: Study, found: StreamRanking, needs: dict[str, list[str]]) -> Line:
    """Return the line of methods that are ranked."""
    best = found.leader
    assert best is not None
    label = {method: study.methods[method].label or method for method in found.scores}
    behind = next((method for method, lead in found.leads.items() if lead.resolved), None)
    lead = ""
    if behind:
        difference = found.leads[behind].over.difference
        lead = f"{label[behind]}: by {evidence.number(difference.mean, row)}"
    tied = [] if found.untested else [label[method] for method in found.tied]
    mean = float(np.nanmean(found.scores[best]))
    kept = [need.removeprefix(MEMORY) for need in needs[best] if need.startswith(MEMORY)]
    return Line(
        kept[0] if kept else "none",
        f"{label[best]}: {evidence.number(mean, row)}{_unit(row.metric)}",
        _named(tied),
        lead,
        method_costs.short(study.methods[best].method or ""),
    )


def _named(labels: list[str]) -> str:
    """Return the labels of tied methods in words, or their number."""
    if len(labels) < 2:
        return "".join(labels)
    words = listed(labels)
    return words if len(labels) <= NAMED and len(words) <= LONGEST else f"{len(labels)} others"


def _unit(metric: str) -> str:
    """Return the unit of a number of this metric as it is shown, if it is short."""
    unit = units.shown_unit(metric)
    return f" {unit}" if unit in SHORT_UNITS else ""


def mean_over_streams(by_stream: Sequence[Scores]) -> Scores:
    """Return the mean over streams [seed] of each method that has scores on all of them."""
    shared = [name for name in by_stream[0] if all(name in scores for scores in by_stream)]
    return {name: np.mean([scores[name] for scores in by_stream], axis=0) for name in shared}


@cache
def _config(path: Path) -> config_file.Config:
    return config_file.load(path)
