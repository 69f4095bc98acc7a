"""Methods by their labels, which figures and pages show in place of their names."""

from __future__ import annotations

from collections.abc import Mapping

from shiftbench.config.compatibility_words import listed
from shiftbench.config.library import YamlValue
from shiftbench.core import suggestions
from shiftbench.core.errors import UserError


def of_library(methods: Mapping[str, YamlValue]) -> dict[str, str]:
    """Return the label of each method of a library by its name; empty where it has none."""
    labels = {name: method.get("label") for name, method in methods.items()}
    return {name: str(label.data) if label else "" for name, label in labels.items()}


def named(label: str, labels: Mapping[str, str]) -> list[str]:
    """Return the names of the methods with a label, whatever its case."""
    wanted = label.casefold()
    return [name for name, one in labels.items() if wanted and one.casefold() == wanted]


def unknown(what: str, name: str, labels: Mapping[str, str]) -> str:
    """Return the message for an unknown name, which may be the label of methods.

    what: the kind of thing that the name stands for. labels: by name of the method.
    """
    if found := named(name, labels):
        methods = "method" if len(found) == 1 else "methods"
        names = listed([f'"{one}"' for one in found])
        write = "write that name" if len(found) == 1 else "write one of these names"
        return f'"{name}" is the label of the {methods} {names}; {write}'
    return suggestions.unknown(what, name, list(labels))


def refuse_unknown(name: str, labels: Mapping[str, str]) -> None:
    """Raise UserError if a name is not that of a method."""
    if name not in labels:
        raise UserError(unknown("method", name, labels))
