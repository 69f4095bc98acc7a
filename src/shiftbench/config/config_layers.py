"""The layers of each study that a config selects, from the general to the special.

A study consists of the studies that it starts from, its file in the library, its budget there, and
the changes of the configs that select it. Each layer is a mapping in a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from shiftbench.config import form_errors, older_yaml, user_components
from shiftbench.config.base_model import keys
from shiftbench.config.composition import Composition, FileIssue
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
    library = composition.library
    layers = _Resolver(composition).config(root(composition.document), trail=())
    own = layers.methods
    layers.methods = {**own, **library.methods, **own}
    for method, message in library.doubled_methods():
        composition.add_issue(method, message)
    documents = [composition.document, *library.documents]
    for one in documents:
        issues = [*one.key_issues, *older_yaml.issues(one.node)]
        composition.issues += [FileIssue(one, *issue) for issue in issues]
    return layers


class _Resolver:
    """Finds layers in the files of a library. A trail is the list of files that led to a file."""

    def __init__(self, composition: Composition) -> None:
        self.composition, self.library = composition, composition.library
        self.add_issue = composition.add_issue
        self.chose_a_budget: list[YamlValue] = []

    def config(self, file: YamlValue, trail: tuple[Path, ...]) -> ConfigLayers:
        """Return the layers of a config file, on top of those of the config that it starts from."""
        if not (file.data is None or file.is_mapping()):
            self.add_issue(file, "this is not a config; write a mapping with the key studies")
            self.composition.unresolved.append(())
        base = self.base(file, (*trail, Path(file.document.path).resolve()))
        if base is None:
            self.composition.unresolved.append(())
            base = ConfigLayers()
        layers = ConfigLayers({}, dict(base.streams), dict(base.methods), dict(base.others))
        for key, value in file.items():
            self.add_key(layers, key, value)
        if () in self.composition.unresolved:
            return layers
        selected, budget = file.get("studies"), file.get("budget")
        if selected is None or selected.is_mapping():  # a mapping changes and adds; a list picks
            layers.studies.update(base.studies)
        if selected is None and not base.studies and trail:  # of the first file, the schema says it
            self.add_issue(file, f"studies: {form_errors.MISSING}")
        if selected is not None and not isinstance(selected.data, list | dict):
            self.composition.unresolved.append(("studies",))
        for name, entry in self.composition.entries(selected):
            before = len(self.composition.issues)
            layers.studies[name] = self.study(base, name, entry, budget)
            if len(self.composition.issues) > before:
                self.composition.unresolved.append(("studies", name))
        if budget is not None and not self.chose_a_budget:
            self.add_issue(budget, "no study here has budgets in its file; take this key out")
        return layers

    def base(self, file: YamlValue, trail: tuple[Path, ...]) -> ConfigLayers | None:
        """Return the layers of the config that a file starts from; None if that is unknown."""
        start = file.get("from")
        if start is None:
            return ConfigLayers()
        path = self.library.config(str(start.data))
        if path is None:
            message = f'there is no config "{start.data}"; write its path from here, or its name'
            self.add_issue(start, message)
            return None
        if path.resolve() in trail:
            message = f"{path} starts from itself; name another config, or remove this key"
            self.add_issue(start, message)
            return None
        document = self.library.read(path)
        self.library.look_in(document.folder)
        return self.config(root(document), trail)

    def add_key(self, layers: ConfigLayers, key: str, value: YamlValue) -> None:
        """Add a key of a config file to its layers, except its studies."""
        if key not in keys(ConfigFile):
            self.add_issue(value, unknown("key", key, keys(ConfigFile)))
        elif key == FOLDER:
            if not isinstance(value.data, str) or not value.document.folder.is_dir():
                message = f"there is no folder {value.data}; write its path from this file on"
                self.add_issue(value, message)
        elif key in ("streams", "methods"):
            (layers.streams if key == "streams" else layers.methods).update(value.items())
            if not value.is_mapping():
                self.add_issue(value, "should be a mapping of names")
        elif key == "components":
            self.use_components(value)
        elif key not in ("from", "budget", "studies", ANCHORS):
            layers.others[key] = value

    def use_components(self, folders: YamlValue) -> None:
        """Register the user's components in these folders, or add what is wrong with them."""
        paths = [folders] if isinstance(folders.data, str) else list(folders.elements())
        if not paths or not all(isinstance(path.data, str) for path in paths):
            self.add_issue(folders, "should be the path of a folder, or a list of paths")
            return
        for path in paths:
            folder = path.document.folder / os.path.expanduser(path.data)
            self.composition.component_folders.append(folder.resolve())
            for message in user_components.use(folder):
                self.add_issue(path, message)

    def study(
        self, base: ConfigLayers, name: str, entry: YamlValue, budget: YamlValue | None
    ) -> list[YamlValue]:
        """Return the layers of a study that a config selects; entry: what it says of the study."""
        own = [entry] if entry.is_mapping() else []
        self._refuse_unless_mapping(entry)
        if (budgets := entry.get("budgets")) is not None:
            message = "only a study's file has budgets; write the keys of one here, or name it as"
            self.add_issue(budgets, f"{message} `budget`")
        source = entry.get("from")
        start = name if source is None else str(source.data)
        if start in base.studies:
            return [*base.studies[start], *own]
        if source is None and own:
            return own
        of_entry = entry.get("budget")
        layers = self.library_study(source or entry, start, of_entry or budget)
        if layers and of_entry is not None and of_entry not in self.chose_a_budget:
            self.add_issue(of_entry, f'the study "{start}" has no budgets; take this key out')
        return [*layers, *own] or [entry]

    def library_study(
        self, reference: YamlValue, name: str, budget: YamlValue | None
    ) -> list[YamlValue]:
        """Return the layers of a study of the library; reference: the value that names it.

        The name is that of a file in `studies/`. If there is no such file, or if the file has
        budgets and none is chosen, it is that of a study in our config of the budget.
        """
        file = self.library.study(name)
        is_clear = file is not None and (budget is not None or file.get("budgets") is None)
        planned = None if is_clear else self.library.planned_study(name, *_budget_name(budget))
        if planned is None:
            return self.study_file(reference, name, budget, trail=())
        self.chose_a_budget += [budget] if budget else []
        changes = [planned.changes] if planned.changes.is_mapping() else []
        return [*self.study_file(reference, planned.file, planned.budget, trail=()), *changes]

    def study_file(
        self, reference: YamlValue, name: str, budget: YamlValue | None, trail: tuple[str, ...]
    ) -> list[YamlValue]:
        """Return the layers of a study file: the study that it starts from, itself, its budget."""
        file = self.library.study(name)
        if file is None:
            names = {*self.library.studies(), *self.library.planned(*_budget_name(budget))}
            self.add_issue(reference, unknown("study", name, sorted(names)))
            return []
        if name in trail:
            self.add_issue(reference, f'the study "{name}" starts from itself')
            return []
        layers = []
        if source := file.get("from"):
            layers = self.study_file(source, str(source.data), budget, (*trail, name))
        layers.append(file)
        if budgets := file.get("budgets"):
            self.chose_a_budget += [budget] if budget else []
            known = [key for key, _ in budgets.items()]
            for _, one in budgets.items():
                self._refuse_unless_mapping(one)
            if budget is None:
                message = f'the study "{name}" has budgets; choose one with the key `budget`:'
                self.add_issue(reference, f"{message} {', '.join(known)}")
            elif (chosen := budgets.get(str(budget.data))) is not None:
                layers.append(chosen)
            else:
                message = unknown(f'budget of the study "{name}"', budget.data, known)
                self.add_issue(reference, message)
        return layers

    def _refuse_unless_mapping(self, value: YamlValue) -> None:
        """Add an issue for a value that is neither a mapping nor empty."""
        if value.data is not None and not value.is_mapping():
            self.add_issue(value, "should be a mapping, or nothing after the name")


def _budget_name(budget: YamlValue | None) -> list[str]:
    """Return the name of a budget as an optional argument: empty without a budget."""
    return [] if budget is None else [str(budget.data)]
