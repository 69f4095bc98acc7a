"""The layers of each study that a config selects, from the general to the special.

A study consists of the studies that it starts from, its file in the library, its budget there, and
the changes of the configs that select it. Each layer is a mapping in a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shiftbench.config import user_components
from shiftbench.config.base_model import keys
from shiftbench.config.composition import Composition
from shiftbench.config.library import ANCHORS, YamlValue, root
from shiftbench.config.schema import ConfigFile
from shiftbench.config.yaml_lines import FOLDER
from shiftbench.core.suggestions import unknown


@dataclass
class ConfigLayers:
    """The content of a config file on top of the config that it starts from.

    studies: the layers of each, the general first. methods: those of the configs, before those of
    the library. others: all other keys.
    """

    studies: dict[str, list[YamlValue]] = field(default_factory=dict)
    streams: dict[str, YamlValue] = field(default_factory=dict)
    methods: dict[str, YamlValue] = field(default_factory=dict)
    others: dict[str, YamlValue] = field(default_factory=dict)


def resolve(composition: Composition) -> ConfigLayers:
    """Read all files that the config of a composition names; issues are added to the composition.

    Raises UserError for a file that is not YAML.
    """
    layers = _of_config(composition, root(composition.document), trail=())
    own = layers.methods
    layers.methods = {**own, **composition.library.methods, **own}
    return layers


def entries(composition: Composition, names: YamlValue | None) -> list[tuple[str, YamlValue]]:
    """Return the names in a list or mapping with their values.

    Other forms, and names that stand twice, become issues.
    """
    if names is None:
        return []
    if not isinstance(names.data, list | dict):
        composition.add_issue(names, "should be a list of names, or a mapping")
    seen = set()
    for element in names.elements():
        item = element.data
        if not (isinstance(item, str) or (isinstance(item, dict) and len(item) == 1)):
            message = "write a name, or one name with its changes, as {name: {...}}"
            composition.add_issue(element, message)
            continue
        (name,) = [item] if isinstance(item, str) else item
        if name in seen:
            composition.add_issue(element, f'"{name}" stands here twice')
        seen.add(name)
    return list(names.named())


def _of_config(composition: Composition, file: YamlValue, trail: tuple[Path, ...]) -> ConfigLayers:
    """Return the layers of a config file; trail: the files that start from it."""
    base = _base(composition, file, (*trail, Path(file.document.path).resolve()))
    if base is None:
        composition.unresolved.append(())
        base = ConfigLayers()
    layers = ConfigLayers({}, dict(base.streams), dict(base.methods), dict(base.others))
    for key, value in file.items():
        _add_key(composition, layers, key, value)
    if () in composition.unresolved:
        return layers
    selected, budget = file.get("studies"), file.get("budget")
    if selected is None or selected.is_mapping():  # a mapping changes and adds; a list picks
        layers.studies.update(base.studies)
    if selected is None and not base.studies and trail:  # of the first file, the schema says it
        composition.add_issue(file, "studies: this key is missing")
    for name, entry in entries(composition, selected):
        before = len(composition.issues)
        layers.studies[name] = _of_study(composition, base, name, entry, budget)
        if len(composition.issues) > before:
            composition.unresolved.append(("studies", name))
    return layers


def _add_key(composition: Composition, layers: ConfigLayers, key: str, value: YamlValue) -> None:
    """Add a key of a config file to its layers, but not its studies."""
    if key not in keys(ConfigFile):
        composition.add_issue(value, unknown("key", key, keys(ConfigFile)))
    elif key == FOLDER:
        if not isinstance(value.data, str) or not value.document.folder.is_dir():
            message = f"there is no folder {value.data}; write its path from this file on"
            composition.add_issue(value, message)
    elif key in ("streams", "methods"):
        (layers.streams if key == "streams" else layers.methods).update(value.items())
        if not value.is_mapping():
            composition.add_issue(value, "should be a mapping of names")
    elif key == "components":
        _use_components(composition, value)
    elif key not in ("from", "budget", "studies", ANCHORS):
        layers.others[key] = value


def _use_components(composition: Composition, folders: YamlValue) -> None:
    """Register the user's components in these folders; what is wrong with them becomes issues."""
    paths = [folders] if isinstance(folders.data, str) else list(folders.elements())
    if not paths or not all(isinstance(path.data, str) for path in paths):
        composition.add_issue(folders, "should be the path of a folder, or a list of paths")
        return
    for path in paths:
        folder = path.document.folder / Path(path.data).expanduser()
        composition.component_folders.append(folder.resolve())
        for message in user_components.use(folder):
            composition.add_issue(path, message)


def _base(
    composition: Composition, file: YamlValue, trail: tuple[Path, ...]
) -> ConfigLayers | None:
    """Return the layers of the config that a file starts from; None if that config is unknown."""
    start = file.get("from")
    if start is None:
        return ConfigLayers()
    path = composition.library.config(str(start.data))
    if path is None:
        message = f'there is no config "{start.data}"; write its path from here, or its name'
        composition.add_issue(start, message)
        return None
    if path.resolve() in trail:
        message = f"{path} starts from itself; name another config, or remove this key"
        composition.add_issue(start, message)
        return None
    document = composition.library.read(path)
    composition.library.look_in(document.folder)
    return _of_config(composition, root(document), trail)


def _of_study(
    composition: Composition,
    base: ConfigLayers,
    name: str,
    entry: YamlValue,
    budget: YamlValue | None,
) -> list[YamlValue]:
    """Return the layers of a study that a config selects; entry: what the config says of it."""
    own = [entry] if entry.is_mapping() else []
    if entry.data is not None and not own:
        composition.add_issue(entry, "should be a mapping, or nothing after the name")
    source = entry.get("from")
    start = name if source is None else str(source.data)
    if start in base.studies:
        return [*base.studies[start], *own]
    if source is None and own:
        return own
    budget = entry.get("budget") or budget
    return [*_of_library(composition, source or entry, start, budget), *own] or [entry]


def _of_library(
    composition: Composition, reference: YamlValue, name: str, budget: YamlValue | None
) -> list[YamlValue]:
    """Return the layers of a study of the library; reference: the value that names it.

    The name is that of a file in `studies/`. Where there is no such file, or where the file has
    budgets and none is chosen, it is that of a study in our config of the budget.
    """
    library = composition.library
    file = library.study(name)
    is_clear = file is not None and (budget is not None or file.get("budgets") is None)
    planned = None if is_clear else library.planned_study(name, *_budget_name(budget))
    if planned is None:
        return _of_file(composition, reference, name, budget, trail=())
    changes = [planned.changes] if planned.changes.is_mapping() else []
    return [*_of_file(composition, reference, planned.file, planned.budget, trail=()), *changes]


def _budget_name(budget: YamlValue | None) -> list[str]:
    """Return the name of a budget as an optional argument: empty without a budget."""
    return [] if budget is None else [str(budget.data)]


def _of_file(
    composition: Composition,
    reference: YamlValue,
    name: str,
    budget: YamlValue | None,
    trail: tuple[str, ...],
) -> list[YamlValue]:
    """Return the layers of a study file: the study that it starts from, itself, its budget."""
    library = composition.library
    file = library.study(name)
    if file is None:
        names = {*library.studies(), *library.planned(*_budget_name(budget))}
        composition.add_issue(reference, unknown("study", name, sorted(names)))
        return []
    if name in trail:
        composition.add_issue(reference, f'the study "{name}" starts from itself')
        return []
    layers = []
    if source := file.get("from"):
        layers = _of_file(composition, source, str(source.data), budget, (*trail, name))
    layers.append(file)
    if budgets := file.get("budgets"):
        names_of_budgets = [key for key, _ in budgets.items()]
        if budget is None:
            message = f'the study "{name}" has budgets; choose one with the key `budget`:'
            composition.add_issue(reference, f"{message} {', '.join(names_of_budgets)}")
        elif (chosen := budgets.get(str(budget.data))) is not None:
            layers.append(chosen)
        else:
            kind = f'budget of the study "{name}"'
            composition.add_issue(reference, unknown(kind, budget.data, names_of_budgets))
    return layers
