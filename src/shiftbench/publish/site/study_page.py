"""What the page of a study says, ready for its template."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import catalogue, components, tuning
from shiftbench.config.compatibility_words import listed
from shiftbench.config.schema import Study as Planned
from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import method_styles, numbers
from shiftbench.publish.site.collect import Results, Study
from shiftbench.publish.site.standings import Standings

SHOWN_ELSEWHERE = ("claims", "score-table")
"""Tables whose numbers the page has in a form of its own."""


class Number(NamedTuple):
    """A cell: as shown, as sorted, the paper's number as shown, what differs from it."""

    text: str
    sort: float
    paper: str
    note: str


class Row(NamedTuple):
    """A learner on a stream."""

    anchor: str
    stream: str
    learner: str
    label: str
    method: str | None
    look: method_styles.Look
    rank: str
    state: str
    numbers: dict[str, Number]
    verdicts: dict[str, int]
    tuned: str
    status: str


class Table(NamedTuple):
    """A published table: its caption is the text below it."""

    name: str
    title: str
    head: list[str]
    rows: list[list[str]]
    caption: str


def rows(study: Study, standings: Standings, results: Results) -> list[Row]:
    """A row for each stream and learner, best first."""
    marks = method_styles.of_study(study.planned, study.learners)
    found, seen = [], set()
    for stream in study.streams:
        for learner in _ordered(study, standings, stream):
            anchor = learner if learner not in seen else f"{learner}-on-{stream}"
            seen.add(learner)
            rank, state = _place(standings, stream, learner)
            found.append(
                Row(
                    anchor,
                    stream,
                    learner,
                    study.label(learner),
                    _linked(study.method(learner), results),
                    marks[learner],
                    rank,
                    state,
                    _numbers(study, stream, learner),
                    _verdicts(study, stream, learner, results),
                    _changes(study.chosen(stream, learner)),
                    _status(study, stream, learner),
                )
            )
    return found


def metrics(study: Study, standings: Standings) -> list[dict[str, str]]:
    """What each metric is, the leading one first."""
    up = {True: "higher is better", False: "lower is better", None: ""}
    return [
        {
            "name": name,
            "about": components.summary("metrics", name),
            "unit": numbers.unit(name),
            "better": up[ranking.higher_is_better(name)],
        }
        for name in sorted(study.metrics, key=lambda name: name != standings.metric)
    ]


def papers(rows: Iterable[Row]) -> set[str]:
    """The metrics of which a paper prints something."""
    return {
        name for row in rows for name, number in row.numbers.items() if number.paper or number.note
    }


def facts(study: Study) -> dict[str, str]:
    """What was cut, what seeds vary, where settings are from, what it did cost, with their names;
    nothing that is empty."""
    planned = study.planned
    known = {
        "Cut against the paper": planned.cuts,
        "Seeds vary": _varied(study),
        "Origin of the settings": " ".join(planned.origin.split()),
        "Tuning": tuning.told(planned),
        "Cost": _cost(study),
        "Made by": _made_by(study),
        "Since then": _changed(study),
    }
    return {name: text.strip().rstrip(".") + "." for name, text in known.items() if text.strip()}


def command(study: Study) -> str:
    """What makes the study again."""
    return catalogue.command(study.name, study.plan.path)


def settings(study: Study) -> dict[str, str]:
    """By label, each method with every setting, and the file and line where it stands."""
    return {
        study.label(name): catalogue.study_method(study.plan.made, study.name, name)
        for name in study.learners
        if name in study.planned.methods
    }


def streams(study: Study) -> list[dict[str, Any]]:
    """Each stream that is planned: its family, what that is, its data set, its settings."""
    found = []
    for name in study.planned.streams:
        stream = study.plan.config.streams[name]
        given = {key: value for key, value in stream.settings.items() if value not in (None, "")}
        found.append(
            {
                "name": name,
                "family": stream.family,
                "about": components.summary("streams", stream.family),
                "dataset": stream.settings.get("dataset"),
                "settings": json.dumps(given, ensure_ascii=False)[1:-1].replace('"', ""),
            }
        )
    return found


def tables(study: Study) -> Iterator[Table]:
    """The study's tables, as published."""
    for path in sorted((study.folder / "tables").glob("*.csv")):
        if path.stem not in SHOWN_ELSEWHERE:
            with path.open(encoding="utf-8", newline="") as text:
                head, *content = csv.reader(text)
            known = path.stem in components.names("artefacts")
            title = components.summary("artefacts", path.stem) if known else path.stem
            yield Table(path.stem, title, head, content, caption(path.with_suffix(".md")))


def caption(markdown: Path) -> str:
    """What stands below a table in Markdown; empty without the file."""
    if not markdown.exists():
        return ""
    lines = markdown.read_text(encoding="utf-8").splitlines()
    return " ".join(line for line in lines if not line.startswith("|")).strip()


def _ordered(study: Study, standings: Standings, stream: str) -> list[str]:
    """Ranked learners best first, then the others in the study's order."""
    having = set(study.summary.loc[study.summary["stream"] == stream, "learner"])
    cell = standings.cells.get(stream)
    ranked = list(cell.scores) if cell else []
    return [*ranked, *(name for name in study.learners if name in having - set(ranked))]


def _place(standings: Standings, stream: str, learner: str) -> tuple[str, str]:
    cell = standings.cells.get(stream)
    alone = standings._replace(cells={stream: cell} if cell else {})
    place = alone.place(learner)
    return place.shown, place.state


def _linked(method: str | None, results: Results) -> str | None:
    return method if method in results.library.methods else None


def _numbers(study: Study, stream: str, learner: str) -> dict[str, Number]:
    found = {}
    for metric in study.metrics:
        row = numbers.row(study, stream, learner, metric)
        if row is not None:
            shown = numbers.with_interval(metric, row)
            paper = numbers.text(metric, float(row["published"]))
            found[metric] = Number(shown, float(row["mean"]), paper, row["published_note"])
    return found


def _verdicts(study: Study, stream: str, learner: str, results: Results) -> dict[str, int]:
    """How many claims about a learner have which verdict on the stream."""
    method = study.planned.standing.get(learner)
    rows = results.ledger
    judged = rows[(rows["config"] == study.plan.name) & (rows["study"] == study.name)]
    judged = judged[judged["stream"] == stream]
    return dict(
        Counter(
            row["verdict"]
            for _, row in judged.iterrows()
            if method in results.claims[row["claim"]].holds.methods
        )
    )


def _status(study: Study, stream: str, learner: str) -> str:
    return next(
        row["status"] for place, row in study.rows.items() if place[:2] == (stream, learner)
    )


def _changes(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {json.dumps(value)}" for key, value in settings.items())


def _varied(study: Study) -> str:
    """What differs from seed to seed, as streams declare it and as networks are trained."""
    planned = study.planned
    if planned.seeds == 1:
        return "nothing: there is one"
    drawn = ["settings"] if planned.configurations else []
    trains = any(
        components.facts("learners", pipeline[-1][0]).model
        for pipeline in planned.pipelines.values()
    )
    words = [*drawn, *(["initialisation", "order of minibatches"] if trains else [])]
    for name in planned.streams:
        words += sorted(_of_stream(study, name))
    return listed(dict.fromkeys(words)) if words else "nothing that streams or learners declare"


def _of_stream(study: Study, name: str) -> frozenset[str]:
    stream = study.plan.config.streams[name]
    return components.facts("streams", stream.family).words("varies", stream.settings)


def _cost(study: Study) -> str:
    hours, trials = study.origin.get("core_hours"), study.trial_hours
    if hours is None:
        return "not recorded"
    more = f", and {trials:.3g} of trials of settings" if trials else ""
    return f"{hours:.3g} core-hours{more}"


def _made_by(study: Study) -> str:
    origin = study.origin
    parts = [
        f"commit {origin['commit']}" if origin.get("commit") else "",
        f"runs: {origin['runs']}" if "runs" in origin else "",
        f"on {listed(origin['processors'])}" if origin.get("processors") else "",
        ", ".join(f"{name} {version}" for name, version in origin.get("versions", {}).items()),
        origin.get("note", ""),
    ]
    return "; ".join(filter(None, parts))


def _changed(study: Study) -> str:
    """What the config says otherwise now; empty where results are what it plans."""
    planned: Planned = study.planned
    pairs = {
        "streams": (study.streams, planned.streams),
        "methods": (study.learners, list(planned.methods)),
        "metrics": (study.summary["metric"].tolist(), planned.metrics),
    }
    other = [name for name, (had, has) in pairs.items() if set(had) != set(has)]
    if study.scores is not None and study.scores["seed"].nunique() != planned.seeds:
        other.append("seeds")
    return f"the config has changed its {listed(other)}; this is what was run" if other else ""
