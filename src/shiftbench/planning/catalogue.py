"""The methods for people to look up: whose they are, and where each setting comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from shiftbench.names import refuse_unknown
from shiftbench.planning import components, config_checks, works
from shiftbench.planning.composition import Composition
from shiftbench.planning.library import Library, Part
from shiftbench.planning.schema import Component, one_component


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
    lines = [*_head(name, found), *([f" {lacks}"] if lacks else [])]
    for position, item in enumerate(found.data.get("pipeline") or []):
        component, settings = one_component(item)
        place = f"{found.document.path.name}: {found.data.get('origin', '')}"
        written = dict.fromkeys(settings, place.rstrip(": "))
        kind = _kind(position, found.data["pipeline"])
        lines += _component(kind, (component, settings), written)
    return "\n".join(lines)


def variant(made: Composition, study: str, name: str) -> str:
    """A method as a study of a config has it, with the file and line of each setting.

    UserError for an unknown study or method.
    """
    refuse_unknown("study", study, made.data["studies"])
    known = made.data["studies"][study]["methods"]
    refuse_unknown("method", name, known)
    own = made.library.methods.get(known[name].get("method"))
    lines = _head(name, own) if own else [name]
    lines.append(f"in the study {study}")
    for position, item in enumerate(known[name]["pipeline"]):
        component, settings = one_component(item)
        place = ("studies", study, "methods", name, "pipeline", position, component)
        written = {}
        for key in settings:
            document, where = made.origin((*place, key))
            written[key] = f"{document.path.name}, line {document.line(where)}"
        kind = _kind(position, known[name]["pipeline"])
        lines += _component(kind, (component, settings), written)
    return "\n".join(lines)


def _head(name: str, method: Part) -> list[str]:
    return [
        f"{name}: {method.data['label']}",
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
    files = [library.study(name) for name in library.studies()]
    budgets = [(file.get("budgets"), file) for file in files if file]
    parts = [part for some, file in budgets for part in (file, *(p for _, p in _items(some)))]
    entries = [entry for part in parts if (m := part.get("methods")) for entry in _entries(m.data)]
    return {str(entry.get("from", name)) for name, entry in entries}


def _items(part: Part | None) -> Iterator[tuple[str, Part]]:
    yield from part.items() if part else ()


def _entries(data: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of methods with what is said of them, of a list or a mapping."""
    for item in data if isinstance(data, list) else [data]:
        named = {item: None} if isinstance(item, str) else item
        for name, entry in named.items():
            yield name, entry if isinstance(entry, dict) else {}


def _kind(position: int, pipeline: list[Any]) -> str:
    return [kind for kind, _ in config_checks.by_kind(pipeline)][position]


def _component(kind: str, component: Component, written: dict[str, str]) -> list[str]:
    """A component with all its settings, one a line."""
    name, settings = component
    filled = components.check(kind, name, settings)
    texts = {key: document for key, (_, _, document) in components.fields(kind, name).items()}
    said = {key: written.get(key) or f"default. {texts[key]}" for key in filled}
    values = {key: f"{key}: {json.dumps(value)}" for key, value in filled.items()}
    width = max(map(len, values.values()), default=0)
    return [name, *(f"  {values[key]:{width}}  {said[key]}" for key in filled)]
