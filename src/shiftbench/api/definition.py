"""A method with all its settings, by name or written out, checked as in a config."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shiftbench.api import _own_components
from shiftbench.api._own_components import Folders
from shiftbench.api.arguments import plain, shown
from shiftbench.api.input_error import InputError
from shiftbench.config import component_checks, components, digest, method_labels
from shiftbench.config.compatibility_words import listed
from shiftbench.config.library import OURS, Library
from shiftbench.config.method_needs import PROTOCOL
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Component, one_component
from shiftbench.config.yaml_lines import KeyPath
from shiftbench.core import extras
from shiftbench.core.suggestions import unknown

OWN = "own"
"""The name of a pipeline that the caller writes out."""


class Definition(NamedTuple):
    """A pipeline and a model, each component with all its settings.

    name: that of the method in the library, or OWN. trains_network: whether the learner fits a
    network. own: folders with the user's components.
    """

    name: str
    pipeline: list[Component]
    model: Component | None
    trains_network: bool
    own: Folders = ()

    @property
    def parts(self) -> list[tuple[str, Component]]:
        """The components of the pipeline with their kinds, from the outermost inwards."""
        return list(by_kind(self.pipeline))

    @property
    def label(self) -> str:
        """The name of the method, or the names of its components."""
        return " + ".join(name for name, _ in self.pipeline) if self.name == OWN else self.name


def defined(
    method: str | Sequence[Any],
    settings: Mapping[str, Any],
    dotted: Mapping[str, Any],
    model: Any,
    own: Any = None,
) -> Definition:
    """Return a method with all its settings.

    Parameters
    ----------
    method
        A name of the library, or a pipeline as in a config.
    settings
        Values by the name of a setting, which one component of the pipeline has.
    dotted
        Values by component.setting.
    model
        The network, as in a config; None without one.
    own
        Folders with the user's components: a path, or a list of paths.

    Raises
    ------
    InputError
        With all that is wrong, each with its remedy.
    """
    folders = _own_components.folders(own)
    with _own_components.known(folders):
        return _defined(method, settings, dotted, model)._replace(own=folders)


def _defined(
    method: str | Sequence[Any], settings: Mapping[str, Any], dotted: Mapping[str, Any], model: Any
) -> Definition:
    name, items = _pipeline(method)
    named = _dotted(settings, items)
    for key in sorted(named.keys() & dotted.keys())[:1]:
        raise InputError(f'{key.partition(".")[2]} and "{key}" are one setting; give it once')
    for key, value in (named | dict(dotted)).items():
        component, _, setting = key.partition(".")
        owner = next((own for name, own in items if name == component), None)
        if owner is None or not setting:
            message = unknown("component", component, [name for name, _ in items])
            raise InputError(f'settings: "{key}": {message}; write "component.setting"')
        owner[setting] = plain(key, value)
    network = None if model is None else _component("model", plain("model", model))
    return _checked(name, items, network)


def restored(
    name: str, pipeline: list[Component], model: Component | None, own: Folders
) -> Definition:
    """Return a method from parts that have been checked when it was defined."""
    with _own_components.known(own):
        return Definition(name, pipeline, model, _trains_network(pipeline), own)


def _trains_network(pipeline: Sequence[Component]) -> bool:
    return bool(components.facts("learners", pipeline[-1][0]).model)


@functools.cache
def _library() -> Library:
    return Library(OURS)


def _pipeline(method: str | Sequence[Any]) -> tuple[str, list[Component]]:
    """Return the name of a method and its components with the settings that are not defaults."""
    if not isinstance(method, Sequence) or isinstance(method, bytes):
        raise InputError(f"{shown(method)} is not a method; give a name, or a list of components")
    if not isinstance(method, str):
        items = [_component("pipeline", item) for item in plain("pipeline", method)]
        if not items:
            raise InputError("the pipeline is empty; write components, and a learner last")
        return OWN, items
    methods = _library().methods
    if method not in methods:
        labels = method_labels.of_library(methods)
        raise InputError(method_labels.unknown("method", method, labels))
    entry = methods[method].get("pipeline")
    if entry is None:
        raise InputError(
            f'the method "{method}" cannot be run: its numbers are quoted from a paper, or are'
            " computed from a whole stream; take another"
        )
    return method, [_component("pipeline", item) for item in entry.data]


def _component(place: str, item: Any) -> Component:
    """Return name and settings of an item, as new objects."""
    try:
        name, settings = one_component(item)
    except ValueError as error:
        raise InputError(f"{place}: {shown(item)}: {error}") from None
    return name, dict(settings)


def _dotted(settings: Mapping[str, Any], items: list[Component]) -> dict[str, Any]:
    """Return settings by component.setting. InputError where none has it, or several have it."""
    known = {
        f"{name}.{key}": key
        for kind, (name, _) in by_kind(items)
        if name in components.names(kind)
        for key in components.fields(kind, name)
    }
    found: dict[str, Any] = {}
    for key, value in settings.items():
        owners = [dotted for dotted, name in known.items() if name == key]
        if not owners and known:
            raise InputError(unknown("setting", key, dict.fromkeys(known.values())))
        if len(owners) > 1:
            raise InputError(
                f'several components have a setting "{key}": {listed(owners)}; write'
                f' settings={{"{owners[0]}": {shown(value)}}}'
            )
        found |= dict.fromkeys(owners, value)
    return found


def _checked(name: str, items: list[Component], model: Component | None) -> Definition:
    """Return the definition with all defaults. InputError for whatever a config refuses."""
    pipeline: list[Any] = [{name: own} for name, own in items]
    study: dict[str, Any] = {
        "methods": {"m": {"pipeline": pipeline}},
        "model": model and {model[0]: model[1]},
    }
    issues = list(component_checks.fill({"studies": {"s": study}}))
    if issues:
        raise InputError("; ".join(_spelt(place, message) for place, message in issues))
    filled = [one_component(item) for item in pipeline]
    network = study["model"] and one_component(study["model"])
    definition = Definition(name, filled, network, _trains_network(filled))
    _refuse_needs(definition)
    _refuse_missing(definition)
    return definition


def _spelt(place: KeyPath, message: str) -> str:
    """Return an issue with the names of the component and the setting that it is about."""
    names = [part for part in place if isinstance(part, str)]
    where = names[3:] if names[2] == "model" else names[5:]
    return f"{'.'.join(where)}: {message}" if where else message


def _refuse_needs(definition: Definition) -> None:
    """Raise InputError for what rows from Python cannot give a method, and for a lacking model."""
    for kind, (name, settings) in definition.parts:
        facts = components.facts(kind, name)
        for need in facts.reveals:
            raise InputError(
                f'"{name}" needs {PROTOCOL[need]}, which rows do not have; take another method'
            )
        if reasons := components.unsupported(kind, name, settings):
            raise InputError("; ".join(f'"{name}": {reason}' for reason in reasons))
    learner, _ = definition.pipeline[-1]
    if definition.trains_network and definition.model is None:
        raise InputError(
            f'"{learner}" trains a network; give model={{"mlp": {{"hidden": [50]}}}} to sb.method,'
            " or take a method without one"
        )
    if definition.model is not None and not definition.trains_network:
        raise InputError(f'"{learner}" trains no network; leave `model` out')


def _refuse_missing(definition: Definition) -> None:
    """Raise MissingPackage where a component imports a package of an extra that is not installed.

    Imports are read from the code, since most of them happen on first use.
    """
    lacking = [name for name in extras.NETWORKS if importlib.util.find_spec(name) is None]
    model = [("models", definition.model)] if definition.model else []
    for kind, (name, _) in [*definition.parts, *model] if lacking else []:
        module = components.module_name(kind, name)
        for package in lacking:
            if digest.imports(module, package):
                raise extras.missing(f'"{name}"', package)
