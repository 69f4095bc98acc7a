"""What the page of a method says, ready for its template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shiftbench.config import bibliography, catalogue
from shiftbench.config.schema import Method
from shiftbench.config.schema import Study as Planned
from shiftbench.publish.site import method_styles, numbers, snippet
from shiftbench.publish.site.collect import Results, Study
from shiftbench.publish.site.standings import Place, Standings


class Result(NamedTuple):
    """The method in a study, on one stream, by the study's leading metric."""

    study: Study
    stream: str
    learner: str
    label: str
    metric: str
    number: str
    mean: float
    paper: str
    place: Place


def of(name: str, results: Results, known: Mapping[str, Standings]) -> dict[str, Any]:
    """Everything of a method of the library."""
    method = results.library.methods[name]
    colour, marker = method.data.get("colour"), method.data.get("marker")
    cited = [key for key in method.data["cite"] if key in bibliography.works()]
    return {
        "name": name,
        "method": Method.model_validate(method.data),
        "look": method_styles.look((colour, marker) if colour and marker else None),
        "works": [bibliography.works()[key] for key in cited],
        "unknown_works": [key for key in method.data["cite"] if key not in cited],
        "settings": catalogue.method(results.library, name),
        "results_of": [
            result
            for study in results.studies
            for result in _results(study, name, known[study.place])
        ],
        "snippet": snippet.of(name, results),
    }


def _results(study: Study, name: str, standings: Standings) -> list[Result]:
    planned: Planned = study.planned
    metric = standings.metric or study.metrics[0]
    found = []
    for learner in study.learners:
        if learner not in planned.methods or planned.methods[learner].method != name:
            continue
        for stream in study.streams:
            row = numbers.row(study, stream, learner, metric)
            if row is None:
                continue
            paper = numbers.text(metric, float(row["published"]))
            cell = standings.cells.get(stream)
            place = standings._replace(cells={stream: cell} if cell else {}).place(learner)
            shown = numbers.with_interval(metric, row)
            found.append(
                Result(
                    study,
                    stream,
                    learner,
                    study.label(learner),
                    metric,
                    shown,
                    float(row["mean"]),
                    paper,
                    place,
                )
            )
    return found
