"""Content of the page of a method, for its template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shiftbench.config import bibliography, catalogue, components
from shiftbench.config.schema import Method
from shiftbench.config.schema import Study as Planned
from shiftbench.publish.site import method_styles, numbers, snippet
from shiftbench.publish.site.collect import Results, SiteStudy
from shiftbench.publish.site.standings import Standing, Standings


class MethodResult(NamedTuple):
    """Result of the method in a study, on one stream, by the study's leading metric."""

    study: SiteStudy
    stream: str
    learner: str
    label: str
    metric: str
    number: str
    mean: float
    paper: str
    standing: Standing


def of(name: str, results: Results, ranked: Mapping[str, Standings]) -> dict[str, Any]:
    """Return the content of the page of a method of the library."""
    method = results.library.methods[name]
    colour, marker = method.data.get("colour"), method.data.get("marker")
    cited = [key for key in method.data["cite"] if key in bibliography.works()]
    return {
        "name": name,
        "method": Method.model_validate(method.data),
        "style": method_styles.style((colour, marker) if colour and marker else None),
        "facts": catalogue.facts(name, method),
        "works": [bibliography.works()[key] for key in cited],
        "unknown_works": [key for key in method.data["cite"] if key not in cited],
        "settings": "\n".join(catalogue.settings(method)),
        "rows_of": components.artefacts_with_row(name),
        "results_of": [
            result
            for study in results.studies
            for result in _results(study, name, ranked[study.place])
        ],
        "snippet": snippet.of(name, results),
    }


def _results(study: SiteStudy, name: str, standings: Standings) -> list[MethodResult]:
    planned: Planned = study.planned
    metric = standings.metric or study.metrics[0]
    results = []
    for learner in study.learners:
        if learner not in planned.methods or planned.methods[learner].method != name:
            continue
        for stream in study.streams:
            row = numbers.row(study, stream, learner, metric)
            if row is None:
                continue
            results.append(
                MethodResult(
                    study=study,
                    stream=stream,
                    learner=learner,
                    label=study.label(learner),
                    metric=metric,
                    number=numbers.with_interval(metric, row),
                    mean=float(row["mean"]),
                    paper=numbers.text(metric, float(row["published"])),
                    standing=standings.on_stream(stream).of_learner(learner),
                )
            )
    return results
