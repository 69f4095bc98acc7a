"""Parts: components in a user's own folder, checked before they count as ours do.

A folder `my_parts` is a package of this name, with a folder for each kind of component in it;
what else lies in it, such as my_parts/distances.py, is for these to import. Nothing is imported
here: a part is read by its syntax tree, as ours are.
"""

from __future__ import annotations

import ast
import importlib.util
import keyword
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiftbench.config import components
from shiftbench.config.compatibility_words import PREDICTIONS
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import unknown

FUNCTIONS = {
    "streams": ("build", "problem", "task"),
    "models": (),
    "learners": ("build",),
    "combinators": ("build",),
    "metrics": (),
    "artefacts": ("caption",),
}
"""What a component of a kind must define."""
CONSTANTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "streams": {"GIVES": ()},
    "models": {},
    "learners": {"TAKES": ()},
    "combinators": {},
    "metrics": {},
    "artefacts": {"KIND": ("figure", "table")},
}
"""What a component of a kind must declare, with the values that there are; none: any."""
MODELS = (True, False, "shapes")
MAKERS = {"figure": "draw", "table": "tabulate"}
ABSENT = object()


def use(folder: Path) -> list[str]:
    """Lets the parts of a folder count; or what is wrong with them, and then none counts."""
    folder = folder.resolve()
    if components.packages().get(folder.name) == folder:
        return []
    wrong = list(_of_folder(folder))
    if not wrong:
        components.add(folder.name, folder)
        wrong = problems(folder.name)
        if wrong:
            components.remove(folder.name)
    return wrong


def problems(package: str) -> list[str]:
    """What is wrong with the components of a package, each with its file."""
    return [
        text
        for kind in components.FOLDERS
        for name in components.files(kind, package)
        for text in _of_component(kind, name)
    ]


def functions(kind: str, name: str) -> list[str]:
    """The functions that a component must have."""
    needed = [*FUNCTIONS[kind]]
    if kind == "models" and not _binds(components.path(kind, name), "describe"):
        needed.append("build")
    if kind == "artefacts" and (maker := MAKERS.get(_value(kind, name, "KIND"))):
        needed.append(maker)
    return needed


def absent(kind: str, name: str) -> list[str]:
    """Packages that a part imports whatever happens, and that are not installed."""
    package = components.package_of(kind, name)
    if package == components.OURS:
        return []
    found = []
    for statement in components.syntax_tree(components.path(kind, name)).body:
        if isinstance(statement, ast.Import):
            found += [alias.name.partition(".")[0] for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and not statement.level and statement.module:
            found.append(statement.module.partition(".")[0])
    known = {*components.packages(), *sys.stdlib_module_names}
    return [one for one in dict.fromkeys(found) if one not in known and not _spec(one)]


def _of_folder(folder: Path) -> Iterator[str]:
    """What is wrong with a folder and the names in it."""
    package = folder.name
    if not folder.is_dir():
        yield f"there is no folder {folder}; a path is relative to the file that it is written in"
        return
    if not package.isidentifier() or keyword.iskeyword(package):
        yield f'{folder}: "{package}" cannot be imported; name the folder like a Python variable'
        return
    if other := components.packages().get(package):
        yield f"two folders are called {package}, {other} and {folder}; rename one"
        return
    if taken := _taken(package, folder):
        yield f'{folder}: "{package}" is the name of {taken}; rename the folder'
        return
    below = sorted(one.name for one in folder.iterdir() if one.is_dir())
    rooms = [name for name in below if not name.startswith(("_", "."))]
    for name in rooms:
        if name not in components.FOLDERS:
            text = unknown("kind of component", name, components.FOLDERS)
            yield f"{folder / name}: {text}; a folder of helpers has a name that begins with _"
    if not rooms:
        yield f"{folder} has none of the folders {', '.join(components.FOLDERS)}; make one"
    for kind in sorted(set(rooms) & components.FOLDERS.keys()):
        for file in sorted((folder / kind).glob("[!_]*.py")):
            yield from _of_name(kind, file)


def _of_name(kind: str, file: Path) -> Iterator[str]:
    """What is wrong with the name of a part."""
    if not file.stem.isidentifier() or file.stem != file.stem.lower():
        good = "".join(c if c.isalnum() and c.isascii() else "_" for c in file.stem.lower())
        yield f"{file}: this name cannot be imported; rename it, as in {good}.py"
    for name in components.names_in(kind, file):
        if name in components.names(kind):
            other = components.path(kind, name)
            yield f'{file}: there is another "{name}" among the {kind}, {other}; rename one'


def _taken(package: str, folder: Path) -> str:
    """What else is imported by the name of a package; empty for nothing."""
    if package in sys.stdlib_module_names:
        return "a module of Python"
    spec = _spec(package)
    places = (
        [str(place) for place in (spec.submodule_search_locations or [spec.origin])] if spec else []
    )
    others = [place for place in places if Path(place).resolve() != folder]
    return f"an installed package, {others[0]}" if others else ""


def _spec(package: str) -> Any:
    try:
        return importlib.util.find_spec(package)
    except ValueError:  # a module that was made without a file, such as __main__
        return None


def _of_component(kind: str, name: str) -> Iterator[str]:
    """What is wrong with a component, as far as its syntax tree tells."""
    file = components.path(kind, name)
    try:
        components.syntax_tree(file)
        if kind == "metrics":
            components.metric(name)
    except UserError as error:
        yield str(error)
        return
    if kind not in ("metrics", "artefacts"):
        yield from _of_settings(kind, name)
    for function in functions(kind, name):
        if not _binds(file, function):
            yield f"{file}: one of the {kind} needs a function `{function}`"
    for constant, values in CONSTANTS[kind].items():
        yield from _of_constant(kind, name, constant, values)
    if kind == "learners":
        yield from _of_learner(name)


def _of_settings(kind: str, name: str) -> Iterator[str]:
    try:
        components.fields(kind, name)
    except UserError as error:
        yield str(error)
    except Exception as error:
        yield (
            f"{components.path(kind, name)}: its Settings cannot be read alone"
            f" ({type(error).__name__}: {error}); they can use what dataclasses, typing and"
            " annotated_types have, and literals"
        )


def _of_constant(
    kind: str, name: str, constant: str, values: tuple[Any, ...], needed: bool = True
) -> Iterator[str]:
    file = components.path(kind, name)
    try:
        value = components.constant(kind, name, constant, ABSENT)
    except ValueError:
        yield f"{file}: {constant} is read without importing the file; write it as a literal"
        return
    known = ", ".join(map(repr, values))
    if value is ABSENT:
        if needed:
            yield f"{file}: one of the {kind} declares {constant}{values and ', one of '}{known}"
    elif values and value not in values:
        yield f"{file}: {constant} is {value!r}; it is one of {known}"


def _of_learner(name: str) -> Iterator[str]:
    """What a learner says of the model that it gets, and of what it predicts."""
    yield from _of_constant("learners", name, "MODEL", MODELS, needed=False)
    takes = _value("learners", name, "TAKES")
    file = components.path("learners", name)
    if takes is None:
        return
    if not isinstance(takes, dict):
        yield f"{file}: TAKES is a mapping, from kinds of problem to what is predicted of each"
        return
    for prediction in takes.values():
        if prediction not in PREDICTIONS:
            yield f"{file}: TAKES: {unknown('prediction', prediction, PREDICTIONS)}"


def _binds(file: Path, name: str) -> bool:
    """Whether a module defines a name, or has it from elsewhere."""
    for statement in components.syntax_tree(file).body:
        match statement:
            case ast.FunctionDef(name=found) if found == name:
                return True
            case ast.Assign(targets=[ast.Name(id=found)]) if found == name:
                return True
            case ast.ImportFrom(names=aliases) if any(
                (a.asname or a.name) == name for a in aliases
            ):
                return True
    return False


def _value(kind: str, name: str, constant: str) -> Any:
    """The value of a constant; None where there is none that can be read."""
    try:
        return components.constant(kind, name, constant)
    except ValueError:
        return None
