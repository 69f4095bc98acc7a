"""The config on the page of a method: a small study that runs it with the settings of the page.

The study is written out. One that started from a study of ours would take over its settings, such
as fewer epochs, and the metrics and references that suit the other methods there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from shiftbench.config import components, config_checks, user_files
from shiftbench.config.library import Library
from shiftbench.config.schema import by_kind, one_component
from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site.collect import Plan, Results

STUDY = "my-study"
PROTOCOL = ("model", "reveals", "drift")
"""Keys of a study that decide whether a method can run on its streams."""
WIDTH = 92
"""Characters of a line, where it can be broken."""


class Setting(NamedTuple):
    """A stream with its definition, and the study of ours that has it."""

    stream: str
    definition: dict[str, Any]
    study: dict[str, Any]
    name: str
    plan: Plan


class Snippet(NamedTuple):
    """A whole config, in YAML, that runs a method with one seed.

    other: the command that shows the settings of the method in the study of ours with this stream;
    empty if it is not in that study, or has the same settings there.
    """

    text: str
    other: str


def of(name: str, results: Results) -> Snippet | None:
    """The snippet of a method; None if no stream suits it."""
    method = results.library.methods[name].data
    if "pipeline" not in method:
        return None
    for setting in _settings(name, results):
        for metrics in _metrics(setting.study["metrics"]):
            study = _study(name, method["label"], setting, metrics)
            wrong = _wrong(study, setting, method["pipeline"])
            if not wrong:
                text = _text(study | {"streams": {setting.stream: setting.definition}})
                return Snippet(text, _other(name, method["pipeline"], setting))
            if "methods" in wrong:  # whatever the metric
                break
    return None


def _settings(name: str, results: Results) -> Iterator[Setting]:
    """The first stream of each study that may suit a method, the best first.

    Studies of the first config, which needs no download, come before those of the others, of
    which only those with the method count.
    """
    for number, plan in enumerate(results.plans):
        data, ranks = plan.made.data, _ranks(name, plan, results.library)
        for study in sorted(ranks, key=lambda study: -ranks[study]):
            stream = data["studies"][study]["streams"][0]
            wanted = number == 0 or ranks[study] == 1
            if wanted and not user_files.named(data["streams"][stream]):
                definition = data["streams"][stream]
                yield Setting(stream, definition, data["studies"][study], study, plan)


def _ranks(name: str, plan: Plan, library: Library) -> dict[str, float]:
    """For each study, 1 if it has a method, else the share of its methods from the same file."""
    files = {key: method.document.path for key, method in library.methods.items()}
    found = {}
    for study, data in plan.made.data["studies"].items():
        methods = [one.get("method") for one in data["methods"].values()]
        same = sum(files.get(one) == files[name] for one in methods)
        found[study] = 1.0 if name in methods else same / (len(methods) + 1)
    return found


def _metrics(known: list[str]) -> Iterator[list[str]]:
    """Each metric of a study with those that it is taken from, the one that ranks first."""
    leading = ranking.metric(known)
    for metric in sorted(known, key=lambda one: one != leading):
        yield [*components.facts("metrics", metric).uses, metric]


def _study(name: str, label: str, setting: Setting, metrics: list[str]) -> dict[str, Any]:
    return {
        "title": f"{label} on {setting.stream}",
        "streams": [setting.stream],
        **{key: value for key in PROTOCOL if (value := setting.study.get(key))},
        "methods": [name],
        "metrics": metrics,
        "artefacts": ["score-table"],
        "seeds": 1,
    }


def _wrong(study: dict[str, Any], setting: Setting, pipeline: list[Any]) -> set[Any]:
    """The keys of the study at which `check` finds something wrong."""
    methods = {name: {"pipeline": pipeline} for name in study["methods"]}
    data = {
        "streams": {setting.stream: setting.definition},
        "studies": {STUDY: study | {"methods": methods}},
    }
    return {place[2] for place, _ in config_checks.check(data).issues}


def _other(name: str, pipeline: list[Any], setting: Setting) -> str:
    """The command that shows a method as the study of a setting has it, if it differs there."""
    here = [
        (component, components.check(kind, component, settings))
        for kind, item in by_kind(pipeline)
        for component, settings in [one_component(item)]
    ]
    variants = setting.plan.config.studies[setting.name].methods
    for variant, known in variants.items():
        if known.method == name and known.pipeline != here:
            options = f"--study {setting.name} --config {setting.plan.path.as_posix()}"
            return f"shiftbench show {variant} {options}"
    return ""


def _text(study: dict[str, Any]) -> str:
    """The config as people write it: lists and settings in one line."""
    config = {"studies": {STUDY: study}}
    return yaml.safe_dump(config, default_flow_style=None, sort_keys=False, width=WIDTH)
