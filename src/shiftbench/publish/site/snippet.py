"""Example config on the page of a method: a small study that runs it with the settings shown.

The study is written out in full. If it started from one of our studies, it would inherit its
settings, such as fewer epochs, and metrics and references that suit the other methods there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from shiftbench.config import components, config_checks, user_files
from shiftbench.config.library import Library
from shiftbench.config.schema import named_by_kind
from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site.collect import SiteConfig, SiteResults

STUDY = "my-study"
PROTOCOL = ("model", "reveals", "drift")
"""Keys of a study that determine whether a method can run on its streams."""
WIDTH = 92
"""Longest line, in characters, where it can be broken."""


class StreamInStudy(NamedTuple):
    """A stream with its definition, and the study of ours that uses it."""

    stream: str
    definition: dict[str, Any]
    study: dict[str, Any]
    name: str
    plan: SiteConfig


class Snippet(NamedTuple):
    """A complete config, in YAML, that runs a method with one seed; python: the same in Python.

    other: the command that shows the settings of the method in our study with this stream; empty
    if the study does not have the method, or has it with the same settings.
    """

    text: str
    python: str
    other: str


def of(name: str, results: SiteResults) -> Snippet | None:
    """Return the snippet of a method, or None if no stream suits it."""
    method = results.library.methods[name].data
    if "pipeline" not in method:
        return None
    for candidate in _candidates(name, results):
        for metrics in _metrics(candidate.study["metrics"]):
            study = _study(name, method["label"], candidate, metrics)
            wrong = _wrong_keys(study, candidate, method["pipeline"])
            if not wrong:
                streams = {"streams": {candidate.stream: candidate.definition}}
                config = {"studies": {STUDY: study | streams}}
                text = yaml.safe_dump(config, default_flow_style=None, sort_keys=False, width=WIDTH)
                python = _python(name, study, candidate.definition)
                return Snippet(text, python, _other(name, method["pipeline"], candidate))
            if "methods" in wrong:  # another metric would not help
                break
    return None


def _candidates(name: str, results: SiteResults) -> Iterator[StreamInStudy]:
    """Yield the first stream of each study that may suit a method, the best first.

    Studies of the first config, which needs no download, come first; of the others, only those
    with the method count.
    """
    for number, plan in enumerate(results.plans):
        data, suitability = plan.composition.data, _suitability(name, plan, results.library)
        for study in sorted(suitability, key=lambda study: -suitability[study]):
            stream = data["studies"][study]["streams"][0]
            wanted = number == 0 or suitability[study] == 1
            if wanted and not user_files.named(data["streams"][stream]):
                definition = data["streams"][stream]
                yield StreamInStudy(stream, definition, data["studies"][study], study, plan)


def _suitability(name: str, plan: SiteConfig, library: Library) -> dict[str, float]:
    """Return for each study 1 if it has a method, else the share of methods in the same file."""
    files = {key: method.document.path for key, method in library.methods.items()}
    shares = {}
    for study, data in plan.composition.data["studies"].items():
        methods = [entry.get("method") for entry in data["methods"].values()]
        same = sum(files.get(method) == files[name] for method in methods)
        shares[study] = 1.0 if name in methods else same / (len(methods) + 1)
    return shares


def _metrics(metrics: list[str]) -> Iterator[list[str]]:
    """Yield each metric of a study with those it is computed from, the leading metric first."""
    leading = ranking.leading_metric(metrics)
    for metric in sorted(metrics, key=lambda name: name != leading):
        yield [*components.facts("metrics", metric).uses, metric]


def _study(name: str, label: str, candidate: StreamInStudy, metrics: list[str]) -> dict[str, Any]:
    return {
        "title": f"{label} on {candidate.stream}",
        "streams": [candidate.stream],
        **{key: value for key in PROTOCOL if (value := candidate.study.get(key))},
        "methods": [name],
        "metrics": metrics,
        "artefacts": ["score-table"],
        "seeds": 1,
    }


def _python(name: str, study: dict[str, Any], definition: dict[str, Any]) -> str:
    """Return the study as a call from Python, without its artefacts."""
    settings = {key: value for key, value in definition.items() if key != "family"}
    keys = {key: study[key] for key in ("metrics", "seeds", *PROTOCOL) if key in study}
    given = [repr(definition["family"]), *_arguments(settings)]
    asked = [repr([name]), "stream", *_arguments(keys)]
    return (
        f"import shiftbench as sb\n\n{_call('stream = sb.stream', given)}\n"
        f'{_call("scores = sb.run", asked)}\nprint(scores["score"])'
    )


def _arguments(values: dict[str, Any]) -> list[str]:
    return [f"{key}={value!r}" for key, value in values.items()]


def _call(function: str, arguments: list[str]) -> str:
    """Return a call, with an argument a line where it is too long for one."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return f"{function}(\n" + "".join(f"    {one},\n" for one in arguments) + ")"


def _wrong_keys(study: dict[str, Any], candidate: StreamInStudy, pipeline: list[Any]) -> set[Any]:
    """Return the keys of the study at which `check` finds errors."""
    methods = {name: {"pipeline": pipeline} for name in study["methods"]}
    data = {
        "streams": {candidate.stream: candidate.definition},
        "studies": {STUDY: study | {"methods": methods}},
    }
    return {place[2] for place, _ in config_checks.check(data).issues}


def _other(name: str, pipeline: list[Any], candidate: StreamInStudy) -> str:
    """Return the command that shows a method as our study has it, if it differs there."""
    here = [
        (component, components.check(kind, component, settings))
        for kind, component, settings in named_by_kind(pipeline)
    ]
    methods = candidate.plan.config.studies[candidate.name].methods
    for method, of_study in methods.items():
        if of_study.method == name and of_study.pipeline != here:
            config = candidate.plan.path.as_posix()
            return f"shiftbench show {method} --study {candidate.name} --config {config}"
    return ""
