"""Methods and claims for people to look up: whose they are, and where settings come from."""

from __future__ import annotations

import json

from shiftbench.names import refuse_unknown
from shiftbench.planning import claims as ledger
from shiftbench.planning import components, config_checks, works
from shiftbench.planning.composition import Composition
from shiftbench.planning.library import Library, Part
from shiftbench.planning.schema import Component, Config, one_component


def methods(library: Library) -> dict[str, str]:
    """A line on each method: its papers, what it is, and what it lacks, if something."""
    used = _used(library)
    return {
        name: f"{_papers(method)}: {method.data['summary']}{_lacks(name, method, used)}"
        for name, method in sorted(library.methods.items())
    }


def method(library: Library, name: str) -> str:
    """A method with all its settings. UserError for an unknown name."""
    refuse_unknown("method", name, library.methods)
    found = library.methods[name]
    lacks = _lacks(name, found, _used(library))
    lines = [*_head(name, found.data["label"], found), *([f" {lacks}"] if lacks else [])]
    place = f"{found.document.path.name}: {found.data.get('origin', '')}".rstrip(": ")
    for kind, item in config_checks.by_kind(found.data.get("pipeline") or []):
        component, settings = one_component(item)
        lines += _component(kind, (component, settings), dict.fromkeys(settings, place))
    return "\n".join(lines)


def variant(made: Composition, study: str, name: str) -> str:
    """A method as a study of a config has it, with the file and line of each setting.

    UserError for an unknown study or method.
    """
    refuse_unknown("study", study, made.data["studies"])
    known = made.data["studies"][study]["methods"]
    refuse_unknown("method", name, known)
    own = made.library.methods.get(known[name].get("method"))
    lines = _head(name, known[name]["label"], own) if own else [name]
    lines.append(f"in the study {study}")
    for position, (kind, item) in enumerate(config_checks.by_kind(known[name]["pipeline"])):
        component, settings = one_component(item)
        place = ("studies", study, "methods", name, "pipeline", position, component)
        written = {}
        for key in settings:
            document, where = made.origin((*place, key))
            written[key] = f"{document.path.name}, line {document.line(where)}"
        lines += _component(kind, (component, settings), written)
    return "\n".join(lines)


def claims(config: Config) -> dict[str, str]:
    """A line on each claim: who says what, where, and which studies of the config judge it."""
    judged = {study: ledger.of_study(config, study) for study in config.studies}
    return {
        name: f"{works.short(claim.work)}, {claim.where}: {claim.says} "
        f"({', '.join(study for study, found in judged.items() if name in found) or 'no study'})"
        for name, claim in config.claims.items()
    }


def _head(name: str, label: str, method: Part) -> list[str]:
    return [
        f"{name}: {label}",
        f"  {method.data['summary']}",
        f"  {_papers(method)}",
    ]


def _papers(method: Part) -> str:
    known = works.works()
    return ", ".join(known[key].short if key in known else key for key in method.data["cite"])


def _lacks(name: str, method: Part, used: set[str]) -> str:
    if missing := method.data.get("missing"):
        return f" (cannot run yet: {missing.rstrip('.')})"
    return "" if name in used else " (no study yet)"


def _used(library: Library) -> set[str]:
    """The methods that a study of the library names."""
    files = [file for name in library.studies() if (file := library.study(name))]
    budgets = [one for file in files if (part := file.get("budgets")) for _, one in part.items()]
    lists = [named for part in (*files, *budgets) if (named := part.get("methods"))]
    entries = [entry for named in lists for entry in named.named()]
    return {str(source.data) if (source := one.get("from")) else name for name, one in entries}


def _component(kind: str, component: Component, written: dict[str, str]) -> list[str]:
    """A component with all its settings, one a line."""
    name, settings = component
    filled = components.check(kind, name, settings)
    texts = {key: document for key, (_, _, document) in components.fields(kind, name).items()}
    said = {key: written.get(key) or f"default. {texts[key]}" for key in filled}
    values = {key: f"{key}: {json.dumps(value)}" for key, value in filled.items()}
    width = max(map(len, values.values()), default=0)
    return [name, *(f"  {values[key]:{width}}  {said[key]}" for key in filled)]
