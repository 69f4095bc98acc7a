"""Checks and adds the components in a user's own folder.

A folder `my_parts` is a package of this name, with a folder for each kind of component in it;
other files in it, such as my_parts/distances.py, are for these to import. Nothing is imported
here: files must be texts, and then only the declarations of components are read, as for ours.
"""

from __future__ import annotations

import ast
import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiftbench.config import components, digest, environment, spec_code
from shiftbench.core import file_errors
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
"""Functions that a component of a kind must define."""
NEEDED = {"streams": "gives", "learners": "takes"}
"""Facts that a component of a kind must declare."""


def use(folder: Path) -> list[str]:
    """Add the components of a folder, or return what is wrong with them and add none."""
    folder = folder.resolve()
    unreadable = list(_of_texts(folder))
    if unreadable or components.packages().get(folder.name) == folder:
        return unreadable
    wrong = list(_of_folder(folder))
    if not wrong:
        components.add(folder.name, folder)
        wrong = problems(folder.name)
        if wrong:
            components.remove(folder.name)
    return wrong


def forget() -> None:
    """Remove the components of all users, their modules, and all that is cached about them."""
    own = components.users()
    for package in own:
        components.remove(package)
    for name in [name for name in sys.modules if name.partition(".")[0] in own]:
        del sys.modules[name]
    clear_caches()


def clear_caches() -> None:
    """Forget all that is cached about components and their code, which may be other code now."""
    for module in (components, digest, environment, spec_code):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()


def problems(package: str) -> list[str]:
    """Return what is wrong with the components of a package, each with its file."""
    return [
        text
        for kind in components.FOLDERS
        for name in components.files(kind, package)
        for text in _of_component(kind, name)
    ]


def functions(kind: str, name: str) -> list[str]:
    """Return the functions that a component must have."""
    needed = [*FUNCTIONS[kind]]
    if kind == "models" and not components.defines(kind, name, "describe"):
        needed.append("build")
    if kind == "artefacts" and not components.defines(kind, name, "tabulate"):
        needed.append("draw")
    return needed


def absent(kind: str, name: str) -> list[str]:
    """Return the packages that a component always imports and that are not installed."""
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


def _of_texts(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the files of components as texts, before they are parsed."""
    if folder.is_file():
        yield f"{folder} is a file; name the folder with learners/ or others that have such files"
        return
    files = [file for kind in components.FOLDERS for file in (folder / kind).glob("[!_]*.py")]
    for file in sorted(files):
        yield from _of_text(file)


def _of_text(file: Path) -> Iterator[str]:
    """Yield what is wrong with a file as a text, and with a name that none can import."""
    stem = file.stem
    if not re.match("[A-Za-z]", stem) and not (stem.isidentifier() and stem == stem.lower()):
        yield f"{file}: this name cannot be imported; let it begin with a letter from a to z"
    try:
        content = file.read_bytes()
        content.decode()
    except OSError as error:
        yield file_errors.message(error, file)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield f"{file}, line {line}: it is not UTF-8 ({error.reason}); save it as UTF-8"
    else:
        if (end := content.find(b"\0")) >= 0:
            line = content.count(b"\n", 0, end) + 1
            yield f"{file}, line {line}: it has a NUL character, so it is not text; write it again"


def _of_folder(folder: Path) -> Iterator[str]:
    """Yield what is wrong with a folder and the names in it."""
    package = folder.name
    if not folder.is_dir():
        yield (
            f"there is no folder {folder}; correct `components`. A relative path starts at the"
            " folder of the config, or in Python at the working directory"
        )
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
    """Yield what is wrong with the name of a component."""
    if not file.stem.isidentifier() or file.stem != file.stem.lower():
        good = "".join(c if c.isalnum() and c.isascii() else "_" for c in file.stem.lower())
        yield f"{file}: this name cannot be imported; rename it, as in {good}.py"
    for name in components.names_in(kind, file):
        if name in components.names(kind):
            other = components.path(kind, name)
            yield f'{file}: there is another "{name}" among the {kind}, {other}; rename one'


def _taken(package: str, folder: Path) -> str:
    """Return what other package or module has this name; empty if none has."""
    if package in sys.stdlib_module_names:
        return "a module of Python"
    spec = _spec(package)
    places = (
        [str(place) for place in (spec.submodule_search_locations or [spec.origin])] if spec else []
    )
    others = [place for place in places if Path(place).resolve() != folder]
    return f"another package, {others[0]}" if others else ""


def _spec(package: str) -> Any:
    try:
        return importlib.util.find_spec(package)
    except ValueError:  # a module that was made without a file, such as __main__
        return None


def _of_component(kind: str, name: str) -> Iterator[str]:
    """Yield what is wrong with a component, as far as can be seen without an import."""
    file = components.path(kind, name)
    try:
        components.syntax_tree(file)
    except UserError as error:
        yield str(error)
        return
    yield from _of_facts(kind, name)
    for function in functions(kind, name):
        if not components.defines(kind, name, function):
            other = " or `tabulate`" if function == "draw" else ""
            yield f"{file}: the {kind.removesuffix('s')} needs a function `{function}`{other}"


def _of_facts(kind: str, name: str) -> Iterator[str]:
    """Yield what is wrong with the settings and the facts of a component."""
    file = components.path(kind, name)
    try:
        if kind not in ("metrics", "artefacts"):
            components.settings(kind, name)
        facts = components.facts(kind, name)
    except UserError as error:
        yield str(error)
        return
    needed = NEEDED.get(kind)
    if needed and not getattr(facts, needed):
        yield f"{file}: one of the {kind} declares `FACTS = Facts({needed}=...)`"
    elif needed == "takes" and not isinstance(facts.takes, dict):
        yield f"{file}: takes maps kinds of problem to what a learner predicts of each"
