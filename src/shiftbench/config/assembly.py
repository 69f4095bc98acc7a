"""Assembles a config from the layers of its studies, as one document.

Settings of a method come from its file, then from the `settings` of the study and of its budget,
then from what study, budget and config say about this method: the more special value wins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from shiftbench.config import config_layers, grids, method_labels
from shiftbench.config.components import artefacts_with_row
from shiftbench.config.composition import Composition
from shiftbench.config.config_layers import ConfigLayers
from shiftbench.config.library import ANCHORS, Library, YamlValue
from shiftbench.config.schema import Needs, one_component
from shiftbench.config.space_checks import no_setting
from shiftbench.config.yaml_lines import Document, KeyPath

OF_FILES = ("from", "budget", "budgets", "settings", ANCHORS)
"""Keys of a study's file that control the assembly and are not part of the study."""
SHOWN = ("label", "colour", "marker")
OF_STUDY_METHODS = (*SHOWN, *Needs.model_fields)
"""Keys that a study takes from a method's file unless it says otherwise; they are not settings."""
INHERITED = (*OF_STUDY_METHODS, "search", "bound")
"""Keys that a study takes from a method's file."""


def compose(document: Document, alone: bool = False) -> Composition:
    """Assemble the config of a file. UserError for a file that is not YAML.

    alone: look for the files that it names only in its folder, as in a crate, and not in ours.
    """
    library = Library(document.folder, alone)
    composition = Composition(library, document)
    layers = config_layers.resolve(composition)
    composition.methods = layers.methods
    for key, value in layers.others.items():
        composition.put((key,), value)
    for name, value in layers.streams.items():
        composition.put(("streams", name), value)
    for name, study_layers in layers.studies.items():
        if ("studies", name) not in composition.unresolved:
            _StudyAssembly(composition, layers, name).put(study_layers)
    return composition


class _Source(NamedTuple):
    """The library's method that a study's method starts from, None if it is unknown.

    reference: the value of `from` that names it, None if the study's method has its name.
    """

    name: str
    reference: YamlValue | None
    method: YamlValue | None


@dataclass
class _StudyAssembly:
    """Assembles one study of a composition from its layers."""

    composition: Composition
    layers: ConfigLayers
    study: str

    def put(self, layers: list[YamlValue]) -> None:
        """Put the whole study into the composition."""
        place: KeyPath = ("studies", self.study)
        named = (layer for layer in layers if layer.document is self.composition.document)
        self.composition.put(place, next(named, layers[0]), {})
        budgets = [layer for layer in layers if layer.place[:1] == ("budgets",)]
        name = str(budgets[-1].place[1]) if budgets else "none"
        file = (budgets[-1] if budgets else layers[0]).document.path.name
        self.composition.budgets[self.study] = f"{name} (in {file})"
        for layer in layers:
            for key, value in layer.items():
                if key not in (*OF_FILES, "streams", "axes", "methods", "tuning"):
                    self.composition.put((*place, key), value)
        self._put_tuning(_values(layers, "tuning"))
        if streams := _values(layers, "streams"):
            self._put_streams(streams[-1], _last(_values(layers, "axes")))
        settings = _values(layers, "settings")
        for value in settings:
            if not value.is_mapping():
                message = "should be a mapping of component.key to a value"
                self.composition.add_issue(value, message)
        if methods := _values(layers, "methods"):
            self._put_methods(methods, [value for value in settings if value.is_mapping()])

    def _put_tuning(self, layers: list[YamlValue]) -> None:
        """Put the study's trials, whose keys may come from several layers."""
        place = ("studies", self.study, "tuning")
        begun = False
        for value in layers:
            if not value.is_mapping() or not begun:
                self.composition.put(place, value, {} if value.is_mapping() else None)
            for key, inner in value.items() if value.is_mapping() else ():
                self.composition.put((*place, key), inner)
            begun = value.is_mapping()

    def _put_streams(self, streams: YamlValue, axes: YamlValue | None) -> None:
        """Put the study's streams: names, or definitions that become streams of the config."""
        place = ("studies", self.study, "streams")
        if axes is not None and axes.data != {}:
            self._put_grid(streams, axes)
        elif not streams.is_mapping():
            self.composition.put(place, streams)
        else:
            self.composition.put(place, streams, list(streams.data))
            for position, (name, stream) in enumerate(streams.items()):
                self._put_stream((*place, position), name, stream, stream.data)

    def _put_stream(
        self, place: KeyPath, name: str, definition: YamlValue, data: dict[str, Any]
    ) -> bool:
        """Put a stream; return False, with an issue, if a different stream has its name."""
        self.composition.put(place, definition, name)
        other = self.composition.data.get("streams", {}).get(name)
        if other is not None and other != data:
            message = f'there is another stream "{name}" in this config; rename one of them'
            self.composition.add_issue(definition, message)
            return False
        self.composition.put(("streams", name), definition, data)
        return True

    def _put_grid(self, streams: YamlValue, axes: YamlValue) -> None:
        """Put the streams of a study with axes, one for each cell of the grid."""
        place = ("studies", self.study)
        names = [name for name, _ in streams.named()]
        stream = None
        if len(names) == 1:
            stream = streams.get(names[0]) or self.layers.streams.get(names[0])
        issues = list(grids.issues(streams, stream, axes))
        for value, message in issues:
            self.composition.add_issue(value, message)
        if issues or stream is None or not stream.is_mapping():
            self._put_streams(streams, None)
            return
        absent = grids.absent(axes)
        self._note_absent(absent)
        cells = [cell for cell in grids.cells(names[0], axes) if cell.dataset not in absent]
        self.composition.put((*place, "streams"), streams, [cell.name for cell in cells])
        self.composition.put((*place, "axes"), axes, grids.filled(axes, absent))
        for position, cell in enumerate(cells):
            self.composition.cells[cell.name] = names[0]
            at = (*place, "streams", position)
            if self._put_stream(at, cell.name, stream, cell.stream(stream)):
                for key, value in cell.settings.items():
                    self.composition.put(("streams", cell.name, key), value)

    def _note_absent(self, absent: Mapping[str, str]) -> None:
        """Note which data sets are missing from the study, grouped by reason."""
        for reason in dict.fromkeys(absent.values()):
            names = ", ".join(name for name, why in absent.items() if why == reason)
            self.composition.absent.setdefault(f"{names}: {reason}", []).append(self.study)

    def _put_methods(self, layers: list[YamlValue], settings: list[YamlValue]) -> None:
        """Put the study's methods: methods of the library with changes, or its own pipelines.

        layers: values of `methods`; settings: values of `settings`, which are for all methods.
        """
        place = ("studies", self.study, "methods")
        selected: dict[str, list[YamlValue]] = {}
        mentioned: dict[str, list[YamlValue]] = {}  # also those that a later list does not pick
        for layer in layers:
            entries = self.composition.entries(layer)
            if not layer.is_mapping():  # a list picks
                selected = {name: selected.get(name, []) for name, _ in entries}
            for name, entry in entries:
                selected.setdefault(name, []).append(entry)
                mentioned.setdefault(name, []).append(entry)
        self.composition.put(place, layers[-1], {})
        general = [item for layer in settings for item in layer.items()]
        for name, changes in selected.items():
            self._put_method((*place, name), changes, general)
        self._refuse_shared_labels(selected)
        if any(cause[: len(place)] == place for cause in self.composition.unresolved):
            return
        components: set[str] = set()
        for name, changes in mentioned.items():
            if (method := self._source(name, changes).method) is not None:
                of_method = _settings_by_component(method.get("pipeline"))
                components |= of_method.keys()
                if name not in selected:
                    self._refuse_unknown_keys(name, changes, of_method)
        for name in selected:
            components |= _component_places(self.composition.data, (*place, name)).keys()
        for key, setting in general:
            if key.partition(".")[0] not in components:
                message = "no method of this study has this component; write component.key"
                self.composition.add_issue(setting, message)

    def _refuse_unknown_keys(
        self, name: str, changes: list[YamlValue], components: Collection[str]
    ) -> None:
        """Add an issue for each unknown key of a method that the study does not pick."""
        for key, value in (item for change in changes for item in change.items()):
            if key in (*OF_STUDY_METHODS, "from"):
                continue
            if message := no_setting(key, components, method=name):
                self.composition.add_issue(value, message)

    def _refuse_shared_labels(self, selected: dict[str, list[YamlValue]]) -> None:
        """Add an issue for each label that the study gives to two methods."""
        first: dict[str, str] = {}
        for name, changes in selected.items():
            label = _last(change.get("label") for change in changes)
            if label is None or not label.data or not isinstance(label.data, str):
                continue
            if (other := first.setdefault(label.data, name)) != name:
                message = f'the method "{other}" has this label too; write another one'
                self.composition.add_issue(label, message)

    def _source(self, name: str, changes: list[YamlValue]) -> _Source:
        """Return the library's method that a study's method starts from, by `from` or by name."""
        reference = _last(change.get("from") for change in changes)
        name = name if reference is None else str(reference.data)
        return _Source(name, reference, self.layers.methods.get(name))

    def _put_method(
        self, place: KeyPath, changes: list[YamlValue], general: list[tuple[str, YamlValue]]
    ) -> None:
        """Put one method with the general settings of the study, then its own changes."""
        for change in changes:
            if not isinstance(change.data, dict | list | None):
                message = "should be changes of the method, or a pipeline as a list"
                self.composition.add_issue(change, message)
        own = _last(change for change in changes if isinstance(change.data, list))
        self.composition.put(place, own or changes[-1], {"pipeline": []})
        if own is not None:
            self._put_own_pipeline(place, own, general)
            return
        source = self._source(str(place[-1]), changes)
        reference = source.reference or changes[-1]
        if source.method is None or source.method.get("pipeline") is None:
            self.composition.add_issue(reference, self._no_pipeline(source))
            self.composition.unresolved.append(place)
            return
        if not self.composition.library.replaces_ours(source.name, source.method):
            self.composition.put((*place, "method"), reference, source.name)
        for key in INHERITED:
            if (value := source.method.get(key)) is not None:
                self.composition.put((*place, key), value)
        self._put_pipeline(place, source.method.at("pipeline"))
        components = _component_places(self.composition.data, place)
        for key, value in general:
            if key.partition(".")[0] in components:
                self._put_setting(place, components, key, value)
        for key, value in (item for change in changes for item in change.items()):
            if key in OF_STUDY_METHODS:
                self.composition.put((*place, key), value)
            elif key != "from":
                self._put_setting(place, components, key, value)

    def _no_pipeline(self, source: _Source) -> str:
        if source.method is not None and (quoted := source.method.get("quoted")):
            return (
                f'the method "{source.name}" is quoted from {quoted.data} and cannot be run; leave'
                " it out"
            )
        if artefacts := artefacts_with_row(source.name):
            return (
                f'the method "{source.name}" is not a learner, but a row of'
                f" {' and '.join(artefacts)}; add one of these to the artefacts"
            )
        if source.method is not None:
            return (
                f'the method "{source.name}" has no `pipeline`; write one, as a list of components'
            )
        message = method_labels.unknown(
            "method", source.name, method_labels.of_library(self.layers.methods)
        )
        return f"{message}; or write a pipeline, as a list of components"

    def _put_pipeline(self, place: KeyPath, items: YamlValue) -> None:
        """Put the components of a pipeline, each as a mapping of its name to its settings."""
        place = (*place, "pipeline")
        self.composition.put(place, items)
        for position, item in enumerate(items.elements()):
            try:
                name, settings = one_component(item.data)
                self.composition.put((*place, position), item, {name: settings})
            except ValueError:
                self.composition.put((*place, position), item)

    def _put_own_pipeline(
        self, place: KeyPath, items: YamlValue, general: list[tuple[str, YamlValue]]
    ) -> None:
        """Put a pipeline that the study writes out; its settings override the general ones."""
        self._put_pipeline(place, items)
        components = _component_places(self.composition.data, place)
        written = _settings_by_component(items)
        for key, value in general:
            component, _, setting = key.partition(".")
            if component in components and setting not in written.get(component, {}):
                self._put_setting(place, components, key, value)

    def _put_setting(
        self, place: KeyPath, components: dict[str, KeyPath], key: str, value: YamlValue
    ) -> None:
        """Change one setting of a method, written as component.key."""
        if message := no_setting(key, components, method=place[-1]):
            self.composition.add_issue(value, message)
        else:
            component, _, setting = key.partition(".")
            self.composition.put((*components[component], setting), value)


def _values(layers: list[YamlValue], key: str) -> list[YamlValue]:
    """Return the values of a key in the layers that have it."""
    return [value for layer in layers if (value := layer.get(key)) is not None]


def _last(values: Iterable[YamlValue | None]) -> YamlValue | None:
    """Return the last of the values that is not None; None if there is none."""
    return next((value for value in reversed(list(values)) if value is not None), None)


def _settings_by_component(pipeline: YamlValue | None) -> dict[str, dict[str, Any]]:
    """Return the settings that a pipeline gives to each of its components."""
    found = {}
    for item in pipeline.elements() if pipeline else ():
        with suppress(ValueError):
            name, found[name] = one_component(item.data)
    return found


def _component_places(data: Mapping[str, Any], method: KeyPath) -> dict[str, KeyPath]:
    """Return the place of the settings of each component of a method in the composed data."""
    for key in method:
        data = data[key]  # type: ignore[index]
    items = data["pipeline"] if isinstance(data["pipeline"], list) else []
    return {
        name: (*method, "pipeline", position, name)
        for position, item in enumerate(items)
        if isinstance(item, dict)
        for name in item
    }
