"""Content of the page of a method: what it is, where it wins, what it needs, and its numbers."""

from __future__ import annotations

import ast
import math
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shiftbench.config import bibliography, catalogue, components, method_costs, method_needs
from shiftbench.config.schema import Method, named_by_kind
from shiftbench.config.schema import Study as Planned
from shiftbench.publish.site import method_styles, numbers, snippet
from shiftbench.publish.site.collect import SiteResults, SiteStudy
from shiftbench.publish.site.standings import BEST, TIED, Standing, Standings

EQUATION = re.compile(r"(?m)^\n((?:    \S.*\n)+)(?=\n|\Z)")
"""Indented lines of a docstring with an empty line before and after."""
STREAMS = 3
"""The most streams of a study that have a row each; more share one."""
WINS = 6
"""The most studies that are named among those in which a method leads."""


class MethodResult(NamedTuple):
    """Result of the method in a study, on one stream, by the study's leading metric.

    data: the family of the stream and its data set; trials: of settings, 0 if not tuned; note: our
    share of the paper's training, empty if it is whole or unknown.
    """

    study: SiteStudy
    stream: str
    data: str
    method: str
    label: str
    metric: str
    number: str
    mean: float
    seeds: int
    trials: int
    paper: str
    note: str
    standing: Standing

    @property
    def budget(self) -> str:
        """How much was trained, and whether settings were tuned, in words."""
        tuned = f"tuned with {self.trials} trials" if self.trials else "not tuned"
        share = (
            f"; {self.note}" if self.note else "; all of the paper's training" * bool(self.paper)
        )
        return f"{self.study.plan.name}; {tuned}{share}"


def of(name: str, results: SiteResults, ranked: Mapping[str, Standings]) -> dict[str, Any]:
    """Return the content of the page of a method of the library or of a config."""
    method, is_own = results.methods[name], name in results.own_methods
    cited = [key for key in method.data["cite"] if key in bibliography.works()]
    found = [
        result for study in results.studies for result in _results(study, name, ranked[study.place])
    ]
    # Tuned results first; results on the same kind of stream and data set are adjacent.
    found.sort(key=lambda one: (one.data, one.trials == 0, one.study.place))
    pipeline = method.data.get("pipeline")
    return {
        "name": name,
        "method": Method.model_validate(method.data),
        "own": method.document.path.name if is_own else "",
        "style": _style(method.data, found if is_own else []),
        "equation": _equation(pipeline or []),
        "needs": method_needs.of(pipeline) or [method_needs.NOTHING] if pipeline else [],
        "cost": method_costs.sentence(name, method),
        "works": [bibliography.works()[key] for key in cited],
        "unknown_works": [key for key in method.data["cite"] if key not in cited],
        "settings": "\n".join(catalogue.settings(method, meanings=False)),
        "rows_of": components.artefacts_with_row(name),
        "results_of": found,
        "wins": _wins(found),
        "reconciled": _reconciled(found),
        "snippet": None if is_own else snippet.of(name, results),
        "show": _show(found) if is_own else f"shiftbench show {name}",
    }


def _style(data: Mapping[str, Any], found: Sequence[MethodResult]) -> method_styles.MethodStyle:
    """Return the style that a method has by itself, else that of its first result, if any."""
    colour, marker = data.get("colour"), data.get("marker")
    if found and not (colour and marker):
        first = found[0]
        return method_styles.of_study(first.study.planned, [first.method])[first.method]
    return method_styles.style((colour, marker) if colour and marker else None)


def _show(found: Sequence[MethodResult]) -> str:
    """Return the command that explains the settings of a config's own method; empty without any.

    `show` knows the method only as a study has it: here that of the first result.
    """
    if not found:
        return ""
    study = found[0].study
    config = shlex.quote(study.plan.path.as_posix())
    return f"shiftbench show {found[0].method} --study {study.name} --config {config}"


def _equation(pipeline: Sequence[Any]) -> str:
    """Return the first displayed equation of a docstring, of the outermost component that has one.

    Empty without one.
    """
    for kind, name, _ in named_by_kind(list(pipeline)):
        tree = ast.parse(components.path(kind, name).read_text(encoding="utf-8"))
        if found := EQUATION.search(f"{ast.get_docstring(tree) or ''}\n"):
            return textwrap.dedent(found.group(1)).strip().rstrip(",.:")
    return ""


def _wins(found: Sequence[MethodResult]) -> dict[str, Any]:
    """Return where the method is best or as good, tuned studies first, and how many there are."""
    judged = [one for one in found if one.standing.of > 1]
    won = [one for one in judged if one.standing.state in (BEST, TIED)]
    won.sort(key=lambda one: (one.trials == 0, -one.standing.of))
    return {"shown": won[:WINS], "number": len(won), "of": len(judged)}


def _reconciled(found: Sequence[MethodResult]) -> list[str]:
    """Return why the numbers on one kind of stream and data set differ, a sentence for each."""
    sentences = []
    for data, metric in dict.fromkeys((one.data, one.metric) for one in found):
        alike = [
            one
            for one in found
            if (one.data, one.metric) == (data, metric) and not math.isnan(one.mean)
        ]
        low, high = (pick(alike, key=lambda one: one.mean, default=None) for pick in (min, max))
        if not low or not high or low.budget == high.budget:
            continue
        paper = next((one.paper for one in alike if one.paper), "")
        printed = f" The paper prints {paper}." if paper else ""
        sentences.append(
            f"{data}, {metric}: {numbers.text(metric, low.mean)} in {low.study.place}"
            f" ({low.budget}), and {numbers.text(metric, high.mean)} in {high.study.place}"
            f" ({high.budget}).{printed}"
        )
    return sentences


def _results(study: SiteStudy, name: str, standings: Standings) -> list[MethodResult]:
    planned: Planned = study.planned
    metric = standings.metric or study.metrics[0]
    results = []
    for method in study.methods:
        if method not in planned.methods or planned.methods[method].method != name:
            continue
        found = {
            stream: row
            for stream in study.streams
            if (row := numbers.row(study, stream, method, metric)) is not None
        }
        made = [
            _result(study, stream, method, metric, row, standings.on_stream(stream))
            for stream, row in found.items()
        ]
        results += made if len(made) <= STREAMS else [_together(made, standings)]
    return results


def _result(
    study: SiteStudy, stream: str, method: str, metric: str, row: numbers.Row, known: Standings
) -> MethodResult:
    """Return the result on one stream. known: the standings there."""
    tuning = study.planned.tuning
    return MethodResult(
        study=study,
        stream=stream,
        data=_data(study, stream),
        method=method,
        label=study.label(method),
        metric=metric,
        number=numbers.with_interval(metric, row),
        mean=float(row["mean"]),
        seeds=int(row["n"]),
        trials=tuning.trials if tuning else 0,
        paper=numbers.text(metric, float(row["published"])),
        note=row["published_note"],
        standing=known.of_method(method),
    )


def _together(made: Sequence[MethodResult], standings: Standings) -> MethodResult:
    """Return one result for many streams: the range of the means, and the mean rank."""
    means = [one.mean for one in made if not math.isnan(one.mean)]
    ends = [numbers.text(made[0].metric, pick(means)) for pick in (min, max)] if means else []
    return made[0]._replace(
        stream=f"{len(made)} streams",
        number=" to ".join(ends),
        mean=sum(means) / len(means) if means else math.nan,
        paper="",
        note="",
        standing=standings.of_method(made[0].method),
    )


def _data(study: SiteStudy, stream: str) -> str:
    """Return the family of a stream and its data set, in words."""
    planned = study.plan.config.streams.get(stream)
    if planned is None:  # the config has changed since
        return stream
    dataset = planned.settings.get("dataset")
    family = planned.family.replace("-", " ")
    return f"{family} of {dataset}" if dataset else family
