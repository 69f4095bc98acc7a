"""Descriptions of methods, studies and claims, as `shiftbench list` and `show` print them."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from shiftbench.config import (
    bibliography,
    components,
    method_costs,
    method_labels,
    method_needs,
    result_paths,
)
from shiftbench.config import claims as ledger
from shiftbench.config.composition import Composition
from shiftbench.config.library import Library, YamlValue
from shiftbench.config.schema import (
    Component,
    ComponentItem,
    Config,
    Study,
    named_by_kind,
)
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown

WIDTH = 100
"""The most characters of a line about a study, except for commands."""
NO_OTHERS: Mapping[str, YamlValue] = MappingProxyType({})
"""The methods of a config that defines none itself."""


def methods(library: Library, own: Mapping[str, YamlValue] = NO_OTHERS) -> dict[str, str]:
    """Return two lines on each method: papers and summary; then years, needs and cost.

    own: methods that a config defines itself, by name.
    """
    used = {*_used_methods(library), *own}
    return {
        name: f"{_papers(method)}: {method.data['summary']}\n"
        f"{_sentence(facts(name, method))}{_lacks(name, method, used)}".rstrip()
        for name, method in sorted({**library.methods, **own}.items())
    }


def _sentence(phrases: list[str]) -> str:
    text = "; ".join(phrases)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _years(years: list[int]) -> str:
    """Return the years of the works that a method cites, as "works of 1954 to 1986"."""
    if len({*years}) < 2:
        return f"work of {years[0]}" if years else ""
    return f"works of {min(years)} to {max(years)}"


def _needs(pipeline: list[ComponentItem] | None) -> str:
    """Return the needs of a pipeline in words; empty where `check` would refuse the pipeline."""
    try:
        return method_needs.sentence(pipeline) if pipeline else ""
    except (UserError, ValidationError):
        return ""


def row(name: str, text: str, width: int) -> str:
    """Return a name, padded to a width, with its description beside it, in as many lines as needed.

    A text of one line stays one, to be searched by line; longer ones are wrapped.
    """
    lines = text.splitlines()
    if len(lines) > 1:
        space = WIDTH - width - 2
        lines = [
            part
            for line in lines
            for part in textwrap.wrap(line, space, break_long_words=False, break_on_hyphens=False)
        ]
    return "\n".join(f"{name if i == 0 else '':{width}}  {line}" for i, line in enumerate(lines))


def facts(name: str, method: YamlValue) -> list[str]:
    """Return phrases on a method: the years of its works, its needs and its measured cost."""
    works = bibliography.works()
    years = [works[key].year for key in method.data["cite"] if key in works]
    phrases = [
        _years(years),
        _needs(method.data.get("pipeline")),
        method_costs.sentence(name, method),
    ]
    return [phrase for phrase in phrases if phrase]


def method(library: Library, name: str, own: Mapping[str, YamlValue] = NO_OTHERS) -> str:
    """Describe a method with all its settings. UserError for an unknown name; own: as `methods`."""
    known = {**library.methods, **own}
    method_labels.refuse_unknown(name, method_labels.of_library(known))
    entry = known[name]
    lacks = _lacks(name, entry, {*_used_methods(library), *own})
    lines = [*_head(name, entry.data["label"], entry), *([f" {lacks}"] if lacks else [])]
    if artefacts := components.artefacts_with_row(name):
        lines.append(f"  a row of {', '.join(artefacts)}, computed from all of a stream")
    lines += [f"  {fact}" for fact in facts(name, entry)]
    if origin := entry.data.get("origin"):
        lines.append(f"  settings of {entry.document.path.name}: {origin}")
    return "\n".join([*lines, *settings(entry)])


def settings(method: YamlValue, meanings: bool = True) -> list[str]:
    """Return lines on the components of a method, with all settings and their origins.

    meanings: say what each setting means, too; else defaults share a line.
    """
    origin = method.document.path.name
    describe = _component if meanings else _component_in_short
    lines = []
    for kind, component, given in named_by_kind(method.data.get("pipeline") or []):
        lines += describe(kind, (component, given), dict.fromkeys(given, origin))
    return lines


def study_method(composition: Composition, study: str, name: str, meanings: bool = True) -> str:
    """Describe a method as a study has it, with the file and line of each setting.

    meanings: say what each setting means, too; else leave out defaults. Raises UserError for an
    unknown study or method.
    """
    refuse_unknown("study", study, composition.data["studies"])
    methods = composition.data["studies"][study]["methods"]
    method_labels.refuse_unknown(name, {one: methods[one].get("label", "") for one in methods})
    entry = composition.methods.get(methods[name].get("method"))
    lines = _head(name, methods[name]["label"], entry) if entry else [name]
    lines.append(f"in the study {study}")
    parts = named_by_kind(methods[name]["pipeline"])
    for position, (kind, component, settings) in enumerate(parts):
        place = ("studies", study, "methods", name, "pipeline", position, component)
        origins = {}
        for key in settings:
            document, line_of = composition.origin((*place, key))
            origins[key] = f"{document.path.name}, line {document.line(line_of)}"
        describe = _component if meanings else _given
        lines += describe(kind, (component, settings), origins)
    return "\n".join(lines)


def study(composition: Composition, config: Config, name: str, published: Path) -> str:
    """Describe a study: its question, what it compares, what it cost, and how to run it.

    published: the folder of all published results, which need not exist. Raises UserError for an
    unknown name.
    """
    refuse_unknown("study", name, config.studies)
    planned, path = config.studies[name], composition.document.path
    rows = {
        "streams": ", ".join(f"{one} ({config.streams[one].family})" for one in planned.streams),
        "methods": ", ".join(planned.methods),
        "metrics": ", ".join(planned.metrics),
        "artefacts": ", ".join(planned.artefacts) or "none",
        "seeds": str(planned.seeds),
        "budget": composition.budgets[name.removesuffix(TRIALS)],
        "reduced": " ".join(planned.cuts.split()) or "nothing",
        "tuning": _tuning(planned),
        "cost": _cost(result_paths.study(published / path.stem, name)),
    }
    commands = {
        "run it": command(name, path),
        "a method": f"shiftbench show METHOD --study {name} --config {path.as_posix()}",
    }
    question = [f"  {planned.question}"] if planned.question else []
    lines = [f"{name}: {planned.title}", *question]
    for key, text in rows.items():
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=f"  {key:10}",
            subsequent_indent=" " * 12,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, *(f"  {key:10}{text}" for key, text in commands.items())])


def command(study: str, config: Path) -> str:
    """Return the command that runs one study of a config, in a checkout or outside."""
    return f"shiftbench run {shlex.quote(config.as_posix())} -- {study}"


def claims(config: Config) -> dict[str, str]:
    """Return a line on each claim: its source, the claim, and the studies that judge it."""
    judged = {study: ledger.of_study(config, study) for study in config.studies}
    return {
        name: f"{bibliography.short(claim.work)}, {claim.where}: {claim.says} "
        f"({', '.join(study for study, names in judged.items() if name in names) or 'no study'})"
        for name, claim in config.claims.items()
    }


def _tuning(study: Study) -> str:
    if (tuning := study.tuning) is None:
        return "none"
    seeds = f"{tuning.seeds} seed{'s' * (tuning.seeds > 1)}"
    return f"{tuning.trials} trials of each method, by {tuning.metric}, with {seeds} each"


def _cost(published: Path) -> str:
    """Return the core-hours of a study and of its trials; published: its folder there."""
    trials = published.with_name(published.name + TRIALS)
    hours = {
        label: result_paths.provenance(folder).get("core_hours")
        for label, folder in (("", published), (" of trials", trials))
    }
    costs = [f"{number:.3g} core-hours{label}" for label, number in hours.items() if number]
    return f"{', '.join(costs)}, as published" if costs else "not published; see `shiftbench plan`"


def _head(name: str, label: str, method: YamlValue) -> list[str]:
    return [f"{name}: {label}", f"  {method.data['summary']}", f"  {_papers(method)}"]


def _papers(method: YamlValue) -> str:
    works = bibliography.works()
    return ", ".join(works[key].short if key in works else key for key in method.data["cite"])


def _lacks(name: str, method: YamlValue, used: set[str]) -> str:
    """Return a remark in brackets if no study runs a method; empty for other methods."""
    if quoted := method.data.get("quoted"):
        return f" (quoted, not run: {quoted})"
    return "" if name in used else " (no study yet)"


def _used_methods(library: Library) -> set[str]:
    """Return the methods that a study of the library names, or has as a row of an artefact."""
    files = [file for name in library.studies() if (file := library.study(name))]
    budgets = [one for file in files if (part := file.get("budgets")) for _, one in part.items()]
    parts = [*files, *budgets]
    lists = [methods for part in parts if (methods := part.get("methods"))]
    entries = [entry for methods in lists for entry in methods.named()]
    named = {str(source.data) if (source := one.get("from")) else name for name, one in entries}
    shown = {str(one.data) for part in parts for one in _elements(part.get("artefacts"))}
    known = shown & {*components.names("artefacts")}
    return named.union(*(components.facts("artefacts", artefact).rows for artefact in known))


def _elements(value: YamlValue | None) -> Iterator[YamlValue]:
    return value.elements() if value else iter(())


def _component(kind: str, component: Component, origins: dict[str, str]) -> list[str]:
    """Return lines on a component: its name, then each setting, its origin and its meaning."""
    name, _ = component
    values = _values(kind, component)
    meanings = {key: document for key, (_, _, document) in components.fields(kind, name).items()}
    notes = {key: f"{origins.get(key, 'default')}. {meanings[key]}" for key in values}
    width = max(map(len, values.values()), default=0)
    return [name, *(f"  {values[key]:{width}}  {notes[key]}" for key in values)]


def _component_in_short(kind: str, component: Component, origins: dict[str, str]) -> list[str]:
    """Return lines on a component: its name, settings with their origins, then the defaults."""
    values = _values(kind, component)
    defaults = "; ".join(text for key, text in values.items() if key not in origins)
    lines = textwrap.wrap(
        f"defaults: {defaults}" * bool(defaults), 96, subsequent_indent="  ", break_on_hyphens=False
    )
    return [*_given(kind, component, origins), *(f"  {line}" for line in lines)]


def _given(kind: str, component: Component, origins: dict[str, str]) -> list[str]:
    """Return lines on a component: its name, and settings with their origins."""
    values = _values(kind, component)
    return [component[0], *(f"  {values[key]}  {origin}" for key, origin in origins.items())]


def _values(kind: str, component: Component) -> dict[str, str]:
    """Return all settings of a component with their values, each as a text."""
    filled = components.check(kind, *component)
    return {key: f"{key}: {json.dumps(value)}" for key, value in filled.items()}
