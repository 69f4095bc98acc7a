"""A config as one whole: what it picks from the library, and what it changes, in one document.

Settings of a method come from its file, then from the `settings` of the study and of its
budget, then from what study, budget and config say of this method: the special beats the
general. Each value remembers the file and the line that it comes from.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import grids, user_components
from shiftbench.config.base_model import keys
from shiftbench.config.library import ANCHORS, Library, Part, whole
from shiftbench.config.schema import ConfigFile, Method, Needs, one_component
from shiftbench.config.yaml_lines import FOLDER, Document, Place
from shiftbench.core.suggestions import unknown

OF_FILES = ("from", "budget", "budgets", "settings", ANCHORS)
"""Keys of a study that say how it is made, and are none of its own."""
LOOKS = ("label", "colour", "marker")
NEEDS = tuple(Needs.model_fields)
OF_STUDY_METHODS = (*LOOKS, *NEEDS)
"""Keys that a variant has of its method, unless a study says other ones; they are no settings."""
OF_METHODS = (*OF_STUDY_METHODS, "search", "bound")
"""Keys that a variant has of its method."""


class Found(NamedTuple):
    """What is wrong at a place of a file."""

    document: Document
    place: Place
    text: str


@dataclass
class _Origin:
    """Where a value comes from, None if it was never set as a whole, and the values in it."""

    part: Part | None = None
    inner: dict[str | int, _Origin] = dataclasses.field(default_factory=dict)


@dataclass
class Composition:
    """The whole config: its data, where each value comes from, and what went wrong in making it."""

    library: Library
    document: Document
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    found: list[Found] = dataclasses.field(default_factory=list)
    cells: dict[str, str] = dataclasses.field(default_factory=dict)
    """The streams that axes made, each with the stream that it was made from."""
    component_folders: list[Path] = dataclasses.field(default_factory=list)
    """The folders of the user's components."""
    budgets: dict[str, str] = dataclasses.field(default_factory=dict)
    """The budget of each study that has one."""
    unresolved: list[Place] = dataclasses.field(default_factory=list)
    """Places in the data that lack what an unknown name should have given."""
    _origins: _Origin = dataclasses.field(default_factory=_Origin)

    def put(self, place: Place, part: Part, data: Any = None) -> None:
        """Sets a value, to the data of the part or to others that stand there.

        Below what should be a mapping and is none, as another error tells, nothing is set.
        """
        parent: Any = self.data
        origin = self._origins
        for key, after in pairwise(place):
            parent = parent.setdefault(key, {}) if isinstance(parent, dict) else parent[key]
            if not isinstance(parent, list if isinstance(after, int) else dict):
                return
            origin = origin.inner.setdefault(key, _Origin())
        parent[place[-1]] = copy.deepcopy(part.data if data is None else data)
        origin.inner[place[-1]] = _Origin(part)

    def origin(self, place: Place) -> tuple[Document, Place]:
        """The file that a value comes from, and its place there."""
        found, origin = (self.document, place), self._origins
        for size, key in enumerate(place, start=1):
            if key not in origin.inner:
                break
            origin = origin.inner[key]
            if part := origin.part:
                found = part.document, (*part.place, *place[size:])
        return found

    def wrong(self, part: Part, text: str) -> None:
        """Notes what is wrong with a part."""
        self.found.append(Found(part.document, part.place, text))

    def follows(self, place: Place) -> bool:
        """Whether an error at a place of the data may only follow from an unknown name."""
        emptied = bool(self.unresolved) and place == ("studies",)
        return emptied or any(place[: len(cause)] == cause for cause in self.unresolved)


class _Plan(NamedTuple):
    """What a config asks for, with what it starts from: layers of studies, the general first."""

    studies: dict[str, list[Part]]
    streams: dict[str, Part]
    methods: dict[str, Part]
    others: dict[str, Part]


def compose(document: Document) -> Composition:
    """The whole config that a file stands for. UserError for a file that is no YAML."""
    made = Composition(Library(document.folder), document)
    plan = _plan(made, whole(document), trail=())
    for key, part in plan.others.items():
        made.put((key,), part)
    for name, part in plan.streams.items():
        made.put(("streams", name), part)
    for name, layers in plan.studies.items():
        _study(made, plan, name, layers)
    for part, text in made.library.doubled_methods():
        made.wrong(part, text)
    documents = [document, *made.library.documents]
    made.found += [Found(one, *wrong) for one in documents for wrong in one.wrong_keys]
    return made


def _plan(made: Composition, file: Part, trail: tuple[Path, ...]) -> _Plan:
    """What one config file asks for, on top of the one that it starts from."""
    base = _base(made, file, (*trail, Path(file.document.path).resolve()))
    if base is None:
        made.unresolved.append(())
        base = _Plan({}, {}, {}, {})
    streams, methods, others = dict(base.streams), dict(base.methods), dict(base.others)
    for key, part in file.items():
        if key not in keys(ConfigFile):
            made.wrong(part, unknown("key", key, keys(ConfigFile)))
        elif key == FOLDER:
            if not isinstance(part.data, str) or not file.document.folder.is_dir():
                made.wrong(part, f"there is no folder {part.data}; it is written from this file on")
        elif key in ("streams", "methods"):
            {"streams": streams, "methods": methods}[key].update(part.items())
            if not part.mapping():
                made.wrong(part, "should be a mapping of names")
        elif key == "components":
            _use_parts(made, part)
        elif key not in ("from", "budget", "studies", ANCHORS):
            others[key] = part
    plan = _Plan({}, streams, methods, others)
    if () in made.unresolved:
        return plan
    wanted = file.get("studies")
    if wanted is None or wanted.mapping():  # changes and adds; a list picks
        plan.studies.update(base.studies)
    if wanted is None and not base.studies and trail:  # of the first, the schema says it
        made.wrong(file, "studies: this key is missing")
    budget = file.get("budget")
    for name, entry in _entries(made, wanted):
        before = len(made.found)
        plan.studies[name] = _layers(made, base, name, entry, budget)
        if len(made.found) > before:
            made.unresolved.append(("studies", name))
    return plan


def _use_parts(made: Composition, folders: Part) -> None:
    """Lets the user's components of these folders count; notes what is wrong with them."""
    named = [folders] if isinstance(folders.data, str) else list(folders.elements())
    if not named or not all(isinstance(one.data, str) for one in named):
        made.wrong(folders, "should be the path of a folder, or a list of paths")
        return
    for one in named:
        folder = one.document.folder / Path(one.data).expanduser()
        made.component_folders.append(folder.resolve())
        for text in user_components.use(folder):
            made.wrong(one, text)


def _base(made: Composition, file: Part, trail: tuple[Path, ...]) -> _Plan | None:
    """The config that a file starts from, empty if it starts from none; None if it is unknown."""
    start = file.get("from")
    if start is None:
        return _Plan({}, {}, {}, {})
    path = made.library.config(str(start.data))
    if path is None:
        words = f'there is no config "{start.data}"; write its path from here, or its name'
        made.wrong(start, words)
        return None
    if path.resolve() in trail:
        made.wrong(start, f"{path} starts from itself")
        return None
    document = made.library.read(path)
    made.library.look_in(document.folder)
    return _plan(made, whole(document), trail)


def _entries(made: Composition, wanted: Part | None) -> list[tuple[str, Part]]:
    """Names with what is said of them; what has another form, or stands twice, is noted."""
    if wanted is None:
        return []
    if not isinstance(wanted.data, list | dict):
        made.wrong(wanted, "should be a list of names, or a mapping")
    seen = set()
    for element in wanted.elements():
        item = element.data
        if not (isinstance(item, str) or (isinstance(item, dict) and len(item) == 1)):
            made.wrong(element, "write a name, or one name with its changes, as {name: {...}}")
            continue
        (name,) = [item] if isinstance(item, str) else item
        if name in seen:
            made.wrong(element, f'"{name}" stands here twice')
        seen.add(name)
    return list(wanted.named())


def _layers(
    made: Composition, base: _Plan, name: str, entry: Part, budget: Part | None
) -> list[Part]:
    """The layers of a study that a config names."""
    own = [entry] if entry.mapping() else []
    if entry.data is not None and not own:
        made.wrong(entry, "should be a mapping, or nothing after the name")
    source = entry.get("from")
    known = name if source is None else str(source.data)
    if known in base.studies:
        return [*base.studies[known], *own]
    if source is None and own:
        return own
    budget = entry.get("budget") or budget
    return [*_of_library(made, source or entry, known, budget), *own] or [entry]


def _of_library(made: Composition, named: Part, name: str, budget: Part | None) -> list[Part]:
    """The layers of a study that a config names: a file of `studies/`, or a study of our configs.

    A name is looked up in our config of the budget if there is no such file, or if the file has
    budgets and none is chosen.
    """
    file = made.library.study(name)
    clear = file is not None and (budget is not None or file.get("budgets") is None)
    planned = None if clear else made.library.planned_study(name, *_word(budget))
    if planned is None:
        return _of_file(made, named, name, budget, trail=())
    changes = [planned.changes] if planned.changes.mapping() else []
    return [*_of_file(made, named, planned.file, planned.budget, trail=()), *changes]


def _word(budget: Part | None) -> list[str]:
    """The name of a budget, if there is one."""
    return [] if budget is None else [str(budget.data)]


def _of_file(
    made: Composition, named: Part, name: str, budget: Part | None, trail: tuple[str, ...]
) -> list[Part]:
    """The layers of a study of the library: what it starts from, itself, its budget."""
    file = made.library.study(name)
    if file is None:
        studies = {*made.library.studies(), *made.library.planned(*_word(budget))}
        made.wrong(named, unknown("study", name, sorted(studies)))
        return []
    if name in trail:
        made.wrong(named, f'the study "{name}" starts from itself')
        return []
    layers = []
    if source := file.get("from"):
        layers = _of_file(made, source, str(source.data), budget, (*trail, name))
    layers.append(file)
    if budgets := file.get("budgets"):
        chosen = None if budget is None else budgets.get(str(budget.data))
        if chosen is not None:
            layers.append(chosen)
        elif budget is None:
            made.wrong(named, f'the study "{name}" has budgets; choose one with the key `budget`:'
                       f" {', '.join(key for key, _ in budgets.items())}")  # fmt: skip
        else:
            known = [key for key, _ in budgets.items()]
            made.wrong(named, unknown(f'budget of the study "{name}"', budget.data, known))
    return layers


def _study(made: Composition, plan: _Plan, name: str, layers: list[Part]) -> None:
    """Puts a study together; nothing of one that is not resolved."""
    if ("studies", name) in made.unresolved:
        return
    made.put(("studies", name), layers[0], {})
    for layer in layers:
        if layer.place[:1] == ("budgets",):
            made.budgets[name] = str(layer.place[1])
        for key, part in layer.items():
            if key == "tuning" and part.mapping():
                for inner, value in part.items():
                    made.put(("studies", name, key, inner), value)
            elif key not in (*OF_FILES, "streams", "axes", "methods"):
                made.put(("studies", name, key), part)
    of_key = {
        key: [found for layer in layers if (found := layer.get(key)) is not None]
        for key in ("streams", "axes", "settings", "methods")
    }
    if of_key["streams"]:
        _streams(made, plan, name, of_key["streams"][-1], _last(of_key["axes"]))
    if of_key["methods"]:
        _methods(made, plan, name, of_key["methods"], of_key["settings"])


def _streams(made: Composition, plan: _Plan, study: str, streams: Part, axes: Part | None) -> None:
    """The streams of a study: names, or definitions that become streams of the config."""
    place = ("studies", study, "streams")
    if axes is not None and axes.data != {}:
        _grid(made, plan, place, streams, axes)
        return
    if not streams.mapping():
        made.put(place, streams)
        return
    made.put(place, streams, list(streams.data))
    for number, (name, part) in enumerate(streams.items()):
        _stream(made, (*place, number), name, part)


def _stream(
    made: Composition, place: Place, name: str, part: Part, data: dict[str, Any] | None = None
) -> bool:
    """Puts a stream of a study, of the part or of other data; whether no other has its name."""
    data = part.data if data is None else data
    made.put(place, part, name)
    other = made.data.get("streams", {}).get(name)
    if other is not None and other != data:
        made.wrong(part, f'there is another stream "{name}" in this config; rename one of them')
        return False
    made.put(("streams", name), part, data)
    return True


def _grid(made: Composition, plan: _Plan, place: Place, streams: Part, axes: Part) -> None:
    """The streams of a study with axes, as if they were written out."""
    named = [name for name, _ in streams.named()]
    part = None
    if len(named) == 1:
        part = streams.get(named[0]) or plan.streams.get(named[0])
    wrong = list(grids.problems(streams, part, axes))
    for where, text in wrong:
        made.wrong(where, text)
    if wrong or part is None or not part.mapping():
        _streams(made, plan, str(place[1]), streams, None)
        return
    cells = grids.cells(named[0], axes)
    made.put(place, streams, [cell.name for cell in cells])
    made.put((*place[:-1], "axes"), axes, grids.filled(axes))
    for number, cell in enumerate(cells):
        made.cells[cell.name] = named[0]
        if _stream(made, (*place, number), cell.name, part, cell.stream(part)):
            for key, value in cell.settings.items():
                made.put(("streams", cell.name, key), value)


def _methods(
    made: Composition, plan: _Plan, study: str, methods: list[Part], settings: list[Part]
) -> None:
    """The variants of a study: methods by name with changes, or pipelines."""
    place = ("studies", study, "methods")
    variants: dict[str, list[Part]] = {}
    named: dict[str, list[Part]] = {}  # also those that a later list does not pick
    for layer in methods:
        entries = _entries(made, layer)
        if not layer.mapping():  # a list picks
            variants = {name: variants.get(name, []) for name, _ in entries}
        for name, entry in entries:
            variants.setdefault(name, []).append(entry)
            named.setdefault(name, []).append(entry)
    made.put(place, methods[-1], {})
    general = [item for layer in settings for item in layer.items()]
    for name, variant in variants.items():
        _variant(made, plan, (*place, name), variant, general)
    known = {part for name, parts in named.items() for part in _parts(made, plan, name, parts)}
    resolved = not any(cause[: len(place)] == place for cause in made.unresolved)
    for key, setting in general:
        if resolved and key.partition(".")[0] not in known:
            words = "no method of this study has this component; write component.key"
            made.wrong(setting, words)


def _parts(made: Composition, plan: _Plan, name: str, entries: list[Part]) -> Iterator[str]:
    """The components of the method that a variant is made from."""
    _, method = _method(made, plan, name, entries)
    items = method.get("pipeline") if method else None
    for item in items.elements() if items else ():
        with suppress(ValueError):
            yield one_component(item.data)[0]


def _method(
    made: Composition, plan: _Plan, name: str, entries: list[Part]
) -> tuple[Part | None, Part | None]:
    """The `from` of a variant, if it has one, and the method of that name, or of its own."""
    source = _last(entry.get("from") for entry in entries)
    wanted = name if source is None else str(source.data)
    return source, plan.methods.get(wanted) or made.library.methods.get(wanted)


def _last(parts: Iterable[Part | None]) -> Part | None:
    """The last of the parts that there are."""
    return next((part for part in reversed(list(parts)) if part is not None), None)


def _variant(
    made: Composition,
    plan: _Plan,
    place: Place,
    entries: list[Part],
    general: list[tuple[str, Part]],
) -> None:
    """Puts a variant together."""
    for entry in entries:
        if not isinstance(entry.data, dict | list | None):
            made.wrong(entry, "should be changes of the method, or a pipeline as a list")
    own = _last(entry for entry in entries if isinstance(entry.data, list))
    made.put(place, own or entries[-1], {"pipeline": []})
    if own is not None:
        _pipeline(made, place, own)
        return
    source, method = _method(made, plan, str(place[-1]), entries)
    name = str(place[-1] if source is None else source.data)
    if method is None or method.get("pipeline") is None:
        made.wrong(source or entries[-1], _no_pipeline(made, plan, name, method))
        made.unresolved.append(place)
        return
    _form(made, method)
    made.put((*place, "method"), source or entries[-1], name)
    for key in OF_METHODS:
        if (part := method.get(key)) is not None:
            made.put((*place, key), part)
    _pipeline(made, place, method.at("pipeline"))
    there = _components(made.data, place)
    for key, part in general:
        if key.partition(".")[0] in there:
            _set(made, place, there, key, part)
    for entry in entries:
        for key, part in entry.items():
            if key in OF_STUDY_METHODS:
                made.put((*place, key), part)
            elif key != "from":
                _set(made, place, there, key, part)


def _form(made: Composition, method: Part) -> None:
    """Notes what is wrong with the form of a method; its pipeline is checked where it is used."""
    for key, part in method.items():
        if key not in keys(Method):
            made.wrong(part, unknown("key", key, keys(Method)))
    for key, field in Method.model_fields.items():
        if field.is_required() and method.get(key) is None:
            made.found.append(Found(method.document, (*method.place, key), "this key is missing"))


def _no_pipeline(made: Composition, plan: _Plan, name: str, method: Part | None) -> str:
    if method is not None and (missing := method.get("missing")):
        return f'the method "{name}" cannot run yet: {missing.data}'
    known = [*plan.methods, *made.library.methods]
    return unknown("method", name, known) + "; or write a pipeline, as a list of components"


def _pipeline(made: Composition, place: Place, items: Part) -> None:
    """Puts the components of a pipeline, each as a mapping of its name to its settings."""
    place = (*place, "pipeline")
    made.put(place, items)
    for position, item in enumerate(items.elements()):
        try:
            name, settings = one_component(item.data)
            made.put((*place, position), item, {name: settings})
        except ValueError:
            made.put((*place, position), item)


def _components(data: Mapping[str, Any], place: Place) -> dict[str, Place]:
    """Where each component of a pipeline has its settings."""
    for key in place:
        data = data[key]  # type: ignore[index]
    items = data["pipeline"] if isinstance(data["pipeline"], list) else []
    return {
        name: (*place, "pipeline", position, name)
        for position, item in enumerate(items)
        if isinstance(item, dict)
        for name in item
    }


def _set(made: Composition, place: Place, there: dict[str, Place], key: str, part: Part) -> None:
    """Changes one setting, written as component.key."""
    component, _, setting = key.partition(".")
    if component in there and setting:
        made.put((*there[component], setting), part)
    else:
        words = unknown("component", component, there)
        made.wrong(part, f"{words}; write component.key, of the method {place[-1]}")
