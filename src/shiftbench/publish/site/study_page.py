"""Content of the page of a study, for its template."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from shiftbench.config import catalogue, components, tuning
from shiftbench.config.compatibility_words import listed
from shiftbench.config.schema import Study as Planned
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import caption_notes, ranking, units
from shiftbench.publish import result_files
from shiftbench.publish.derived import costs
from shiftbench.publish.site import method_styles, numbers
from shiftbench.publish.site.collect import SiteResults, SiteStudy
from shiftbench.publish.site.standings import Standings

SHOWN_ELSEWHERE = ("claims", "score-table")
"""Tables whose numbers the page shows in another form."""

MOST_SCORES, MOST_CLAIMS = 120, 4
"""Largest numbers of entries on the page of a study; more have pages of their own."""


class ScoreCell(NamedTuple):
    """A cell: its text, its sort key, the paper's number, and a note on differences."""

    text: str
    sort: str
    paper: str
    note: str


class ScoreRow(NamedTuple):
    """A method on a stream. library_method: the method of the library behind it, if any."""

    anchor: str
    stream: str
    method: str
    label: str
    library_method: str | None
    style: method_styles.MethodStyle
    rank: str
    state: str
    numbers: dict[str, ScoreCell]
    verdicts: dict[str, int]
    tuned: str
    status: str


class PublishedTable(NamedTuple):
    """A published table. caption: the text below it."""

    name: str
    title: str
    head: list[str]
    rows: list[list[str]]
    caption: str


def rows(study: SiteStudy, standings: Standings, results: SiteResults) -> list[ScoreRow]:
    """Return a row for each stream and method, best first."""
    styles = method_styles.of_study(study.planned, study.methods)
    table, seen = [], set()
    for stream in study.streams:
        for method in _ordered(study, standings, stream):
            anchor = method if method not in seen else f"{method}-on-{stream}"
            seen.add(method)
            standing = standings.on_stream(stream).of_method(method)
            of_library = study.library_method(method)
            table.append(
                ScoreRow(
                    anchor=anchor,
                    stream=stream,
                    method=method,
                    label=study.label(method),
                    library_method=of_library if of_library in results.methods else None,
                    style=styles[method],
                    rank=standing.shown,
                    state=standing.state,
                    numbers=_score_cells(study, stream, method),
                    verdicts=_verdicts(study, stream, method, results),
                    tuned=", ".join(
                        f"{key}: {json.dumps(value)}"
                        for key, value in study.chosen(stream, method).items()
                    ),
                    status=_status(study, stream, method),
                )
            )
    return table


def by_method(rows: list[ScoreRow], standings: Standings) -> dict[str, dict[str, ScoreRow]]:
    """Return rows by method and stream, best mean rank first; empty for few enough scores."""
    if sum(len(row.numbers) for row in rows) <= MOST_SCORES:
        return {}
    found: dict[str, dict[str, ScoreRow]] = {}
    for row in rows:
        found.setdefault(row.method, {})[row.stream] = row
    ranks = {name: standings.of_method(name).rank for name in found}
    return {name: found[name] for name in sorted(found, key=lambda name: _last_if_nan(ranks[name]))}


def _last_if_nan(rank: float) -> float:
    return np.inf if np.isnan(rank) else rank


def metrics(study: SiteStudy, standings: Standings) -> list[dict[str, str]]:
    """Describe each metric, the leading one first."""
    up = {True: "higher is better", False: "lower is better", None: ""}
    return [
        {
            "name": name,
            "about": components.summary("metrics", name),
            "unit": units.shown_unit(name),
            "better": up[ranking.higher_is_better(name)],
        }
        for name in sorted(study.metrics, key=lambda name: name != standings.metric)
    ]


def papers(rows: Iterable[ScoreRow]) -> set[str]:
    """Return the metrics with a paper's number or note."""
    return {
        name for row in rows for name, number in row.numbers.items() if number.paper or number.note
    }


def facts(study: SiteStudy) -> dict[str, str]:
    """Return facts by name: reductions, seeds, origin of settings and cost, without empty ones."""
    planned = study.planned
    texts = {
        "Cut against the paper": planned.cuts,
        "Seeds vary": _varied(study),
        "Origin of the settings": " ".join(planned.origin.split()),
        "Tuning": tuning.sentence(planned, study.plan.config.streams),
        "Cost": _cost(study),
        "Made by": _made_by(study),
        "Since then": _changed(study),
    }
    return {name: text.strip().rstrip(".") + "." for name, text in texts.items() if text.strip()}


def command(study: SiteStudy) -> str:
    """Return the command that runs the study again."""
    return catalogue.command(study.name, study.plan.path)


def settings(study: SiteStudy) -> dict[str, str]:
    """Return all settings of each method, by label, with the file and line of those it sets."""
    made = study.plan.composition
    return {
        study.label(name): catalogue.study_method(made, study.name, name, meanings=False)
        for name in study.methods
        if name in study.planned.methods
    }


def families(study: SiteStudy) -> list[dict[str, Any]]:
    """Describe the planned streams by family: the settings that they share, and each one's own."""
    by_family: dict[str, dict[str, dict[str, Any]]] = {}
    for name in study.planned.streams:
        stream = study.plan.config.streams[name]
        given = {key: value for key, value in stream.settings.items() if value not in (None, "")}
        by_family.setdefault(stream.family, {})[name] = given
    return [_family(name, streams) for name, streams in by_family.items()]


def _family(name: str, streams: dict[str, dict[str, Any]]) -> dict[str, Any]:
    first, *others = streams.values()
    shared = {
        key: value
        for key, value in first.items()
        if all(one.get(key) == value and key in one for one in others)
    }
    own = {
        stream: _as_text({key: value for key, value in settings.items() if key not in shared})
        for stream, settings in streams.items()
    }
    return {
        "name": name,
        "about": components.summary("streams", name),
        "datasets": {one["dataset"] for one in streams.values() if "dataset" in one},
        "shared": _as_text(shared),
        "own": own,
    }


def _as_text(settings: dict[str, Any]) -> str:
    return json.dumps(settings, ensure_ascii=False)[1:-1].replace('"', "")


def tables(study: SiteStudy) -> Iterator[PublishedTable]:
    """Yield the study's tables for reading, with the captions below them."""
    for path in sorted((study.folder / "tables").glob("*.md")):
        if path.stem not in SHOWN_ELSEWHERE:
            head, content, caption = table_files.read_markdown(path)
            exists = path.stem in components.names("artefacts")
            title = components.summary("artefacts", path.stem) if exists else path.stem
            yield PublishedTable(path.stem, title, head, content, caption)


def _ordered(study: SiteStudy, standings: Standings, stream: str) -> list[str]:
    """Return ranked methods, best first, then the others in the study's order."""
    with_results = set(study.summary.loc[study.summary["stream"] == stream, "learner"])
    cell = standings.cells.get(stream)
    ranked = list(cell.scores) if cell else []
    return [*ranked, *(name for name in study.methods if name in with_results - set(ranked))]


def _score_cells(study: SiteStudy, stream: str, method: str) -> dict[str, ScoreCell]:
    cells = {}
    for metric in study.metrics:
        row = numbers.row(study, stream, method, metric)
        if row is not None:
            text = numbers.with_interval(metric, row)
            paper = numbers.text(metric, float(row["published"]))
            mean = float(row["mean"])
            sort = "" if np.isnan(mean) else f"{mean:.{numbers.DIGITS}g}"
            cells[metric] = ScoreCell(text, sort, paper, row["published_note"])
    return cells


def _verdicts(study: SiteStudy, stream: str, method: str, results: SiteResults) -> dict[str, int]:
    """Return the number of claims about a method on the stream, by verdict."""
    of_library = study.planned.method_of.get(method)
    rows = results.ledger
    judged = rows[(rows["config"] == study.plan.name) & (rows["study"] == study.name)]
    judged = judged[judged["stream"] == stream]
    return dict(
        Counter(
            row["verdict"]
            for _, row in judged.iterrows()
            if of_library in results.claims[row["claim"]].holds.methods
        )
    )


def _status(study: SiteStudy, stream: str, method: str) -> str:
    return next(row["status"] for place, row in study.rows.items() if place[:2] == (stream, method))


def _varied(study: SiteStudy) -> str:
    """Return what differs between seeds: declared by streams, and by the training of networks."""
    planned = study.planned
    if planned.seeds == 1:
        return "nothing: there is one"
    settings = ["settings"] if planned.configurations else []
    streams = {name: study.plan.config.streams[name] for name in planned.streams}
    words = [
        *settings,
        *caption_notes.of_training(pipeline[-1][0] for pipeline in planned.pipelines.values()),
        *caption_notes.of_data({name: (of.family, of.settings) for name, of in streams.items()}),
    ]
    return listed(dict.fromkeys(words)) if words else "nothing that streams or learners declare"


def _cost(study: SiteStudy) -> str:
    hours, trials = study.origin.get("core_hours"), study.trial_hours
    if hours is None:
        return "not recorded"
    more = ""
    if trials is not None:
        more = f", and {costs.core_hours_text(trials)} of trials of settings"
    return f"{costs.core_hours_text(hours)} core-hours{more}"


def _made_by(study: SiteStudy) -> str:
    origin = study.origin
    parts = [
        f"commit {origin['commit']}" if origin.get("commit") else "",
        f"runs: {origin['runs']}" if "runs" in origin else "",
        result_files.verified(origin),
        f"on {listed(origin['processors'])}" if origin.get("processors") else "",
        ", ".join(f"{name} {version}" for name, version in origin.get("versions", {}).items()),
        origin.get("note", ""),
    ]
    return "; ".join(filter(None, parts))


def _changed(study: SiteStudy) -> str:
    """Return what the config has changed since the results; empty if nothing."""
    planned: Planned = study.planned
    pairs = {
        "streams": (study.streams, planned.streams),
        "methods": (study.methods, list(planned.methods)),
        "metrics": (study.summary["metric"].tolist(), planned.metrics),
    }
    changed = [name for name, (had, has) in pairs.items() if set(had) != set(has)]
    if study.scores is not None and study.scores["seed"].nunique() != planned.seeds:
        changed.append("seeds")
    return f"the config has changed its {listed(changed)}; this is what was run" if changed else ""
