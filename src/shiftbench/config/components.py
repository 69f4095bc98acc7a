"""Components found by their file name, and described without being imported.

A component `gaussian-mean` of the kind `learners` is the file methods/learners/gaussian_mean.py, of
this package or of a user's own (`user_components` checks those and adds them).
Its declarations, Settings and FACTS, are executed without the rest of the file, because importing
all components takes longer than checking a config. Only `load` and `load_metric` import one.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.util
import json
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from shiftbench.config import standalone
from shiftbench.core.checkout import PACKAGE
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.metric import Metric

FOLDERS = {
    "streams": ("data/images", "data/series", "data/tables", "data/text"),
    "models": ("methods/models",),
    "learners": ("methods/learners",),
    "combinators": ("methods/combinators",),
    "metrics": ("evaluation/metrics",),
    "artefacts": ("evaluation/artefacts",),
}

ALONE = ("Settings", "FACTS", "unsupported", "work")
"""Names of a component's file that are executed without the rest of it."""
OURS = "shiftbench"
_packages: dict[str, Path] = {OURS: PACKAGE}


def packages() -> dict[str, Path]:
    """Return the packages with components, ours and those of users, with their folders."""
    return dict(_packages)


def users() -> dict[str, Path]:
    """Return the packages of users, with their folders."""
    return {name: folder for name, folder in _packages.items() if name != OURS}


def add(package: str, folder: Path) -> None:
    """Add the components of a user's package."""
    _packages[package] = folder
    _clear()


def remove(package: str) -> None:
    """Remove the components of a user's package."""
    del _packages[package]
    _clear()


def files(kind: str, package: str) -> dict[str, Path]:
    """Return the components of a kind in one package, as a config spells them, with their files."""
    folders = FOLDERS[kind] if package == OURS else (kind,)
    found = (file for one in folders for file in (_packages[package] / one).glob("[!_]*.py"))
    return dict(sorted((name, file) for file in found for name in names_in(kind, file)))


def names_in(kind: str, file: Path) -> list[str]:
    """Return the names of the components in a file, in the spelling of the config.

    A file holds several metrics, or one component of another kind. A file whose metrics cannot be
    read counts as one of its own name, so that `metric` says what is wrong with it.
    """
    if kind != "metrics":
        return [file.stem.replace("_", "-")]
    try:
        return [row.name for row in standalone.metrics(syntax_tree(file), file)]
    except UserError:
        return [file.stem]


def names(kind: str) -> list[str]:
    """Return the components of a kind, sorted, as a config spells them."""
    return list(_files(kind))


def path(kind: str, name: str) -> Path:
    """Return the file of a component. UserError for a name that does not exist."""
    if name not in _files(kind):
        raise UserError(f"there is no {name!r} among the {kind}: {', '.join(names(kind))}")
    return _files(kind)[name][1]


def package_of(kind: str, name: str) -> str:
    """Return the package of a component. UserError for a name that does not exist."""
    path(kind, name)
    return _files(kind)[name][0]


def module_name(kind: str, name: str) -> str:
    """Return the dotted name under which the component would be imported."""
    package = package_of(kind, name)
    inside = path(kind, name).relative_to(_packages[package])
    return ".".join([package, *inside.with_suffix("").parts])


def load(kind: str, name: str) -> ModuleType:
    """Import a component. UserError where a user's own cannot be imported."""
    package, module = package_of(kind, name), module_name(kind, name)
    if package == OURS:
        return importlib.import_module(module)
    folder = _packages[package]
    try:
        _import_package(package, folder)
        return importlib.import_module(module)
    except Exception as error:
        place = _line_in(folder, error) or str(path(kind, name))
        raise UserError(f"{place}: {type(error).__name__}: {error}") from error


def metric(name: str) -> Metric:
    """Return the row of a metric, without its score. UserError where it cannot be read."""
    return _metrics(path("metrics", name))[name]


def load_metric(name: str) -> Metric:
    """Import the module of a metric and return its row, with its score."""
    rows: list[Metric] = load("metrics", name).METRICS
    return next(row for row in rows if row.name == name)


def summary(kind: str, name: str) -> str:
    """Return the first line of the component's docstring, or what a metric is about."""
    if kind == "metrics":
        return metric(name).about
    return (ast.get_docstring(_tree(kind, name)) or "").partition("\n")[0]


def settings(kind: str, name: str) -> type:
    """Return the component's Settings: no keys but their fields, and numbers are finite.

    UserError where the component has none, or they need more than is known without an import.
    """
    if "Settings" not in _alone(kind, name):
        raise UserError(f"{path(kind, name)}: a component of this kind needs a dataclass Settings")
    return _alone(kind, name)["Settings"]


def facts(kind: str, name: str) -> Facts:
    """Return the facts that the component declares; UserError if they cannot be read."""
    return metric(name) if kind == "metrics" else _alone(kind, name)["FACTS"]


def unsupported(kind: str, name: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the reasons why complete settings exclude each other, each with its remedy."""
    function = _alone(kind, name).get("unsupported") if kind != "metrics" else None
    return list(function(SimpleNamespace(**settings))) if function else []


def work(kind: str, name: str) -> Callable[..., Any] | None:
    """Return the component's function `work`, which changes the sizes of the problem inside it."""
    return _alone(kind, name).get("work")


def check(kind: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in all defaults of settings; pydantic's ValidationError if they are wrong."""
    # Through JSON, where a list stands for a tuple and an integer for a real number, but
    # nothing else is converted.
    adapter = _adapter(kind, name)
    checked = adapter.validate_json(json.dumps(values, default=str), strict=True)
    return adapter.dump_python(checked, mode="json", warnings=False)


def configured(kind: str, name: str, values: Mapping[str, Any]) -> Any:
    """Return the Settings of the imported component with these values, for its `build`."""
    checked = _adapter(kind, name).validate_json(json.dumps(values), strict=True)
    return load(kind, name).Settings(**vars(checked))


@functools.cache
def fields(kind: str, name: str) -> dict[str, tuple[str, Any, str]]:
    """Return type as written, default (MISSING if required) and text of each setting.

    Required settings come first, those of base classes last.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(settings(kind, name))}
    texts = documented(_tree(kind, name), "Settings")
    required = [key for key in texts if defaults[key] is dataclasses.MISSING]
    return {
        key: (texts[key][0], defaults[key], texts[key][1])
        for key in dict.fromkeys([*required, *texts])
    }


def documented(tree: ast.Module, name: str) -> dict[str, tuple[str, str]]:
    """Return the type as written and the documentation of each field of a class of a module.

    Fields of base classes, of this module or of others of this package, come last.
    """
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    if not classes:
        origin = standalone.imported(tree, name)
        return documented(syntax_tree(origin[0]), origin[1]) if origin else {}
    body = classes[0].body
    texts = {
        statement.target.id: (ast.unparse(statement.annotation), _text(following))
        for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    for base in classes[0].bases:
        for key, text in documented(tree, ast.unparse(base)).items():
            texts.setdefault(key, text)
    return texts


def artefacts_with_row(method: str) -> list[str]:
    """Return the artefacts that compute a method without a pipeline, as a row or a line."""
    return [name for name in names("artefacts") if method in facts("artefacts", name).rows]


def defines(kind: str, name: str, function: str) -> bool:
    """Return whether the component's module has a function of this name, or imports it."""
    return any(function in standalone.bound(statement) for statement in _tree(kind, name).body)


def artefact_kind(name: str) -> str:
    """Return "figure" or "table", from the function by which an artefact is made."""
    return "figure" if defines("artefacts", name, "draw") else "table"


def syntax_tree(file: Path) -> ast.Module:
    """Return the syntax tree of a Python file. UserError if it is missing or no Python."""
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except OSError:
        raise UserError(f"{file} does not exist, but a job needs it") from None
    except SyntaxError as error:
        raise UserError(f"{file}, line {error.lineno}: {error.msg}") from None


@functools.cache
def _metrics(file: Path) -> dict[str, Metric]:
    return {row.name: row for row in standalone.metrics(syntax_tree(file), file)}


def _clear() -> None:
    _files.cache_clear()
    _metrics.cache_clear()


@functools.cache
def _files(kind: str) -> dict[str, tuple[str, Path]]:
    """Return package and file of each component of a kind, sorted by name."""
    found = {
        name: (package, file)
        for package in _packages
        for name, file in files(kind, package).items()
    }
    return dict(sorted(found.items()))


def _import_package(package: str, folder: Path) -> None:
    """Import a user's package from its folder, even if `sys.path` has another one of this name."""
    if package in sys.modules:
        return
    start = folder / "__init__.py"
    spec = ModuleSpec(package, None, is_package=True)
    if start.exists():
        spec = importlib.util.spec_from_file_location(package, start) or spec
    spec.submodule_search_locations = [str(folder)]
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    if spec.loader:
        spec.loader.exec_module(module)


def _line_in(folder: Path, error: Exception) -> str:
    """Return file and line of a folder in which an error arose; empty if that was elsewhere."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else ""


@functools.cache
def _adapter(kind: str, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(settings(kind, name))


@functools.cache
def _tree(kind: str, name: str) -> ast.Module:
    return syntax_tree(path(kind, name))


@functools.cache
def _alone(kind: str, name: str) -> dict[str, Any]:
    """Execute the names in ALONE without the rest of the component, and return their values."""
    file = path(kind, name)
    found = {"FACTS": Facts()} | standalone.read(_tree(kind, name), file, ALONE)
    if not isinstance(found["FACTS"], Facts):
        raise UserError(f"{file}: FACTS must be Facts(...)")
    if "Settings" in found:
        one = found["Settings"]
        if not (isinstance(one, type) and dataclasses.is_dataclass(one)):
            raise UserError(f"{file}: Settings must be a class below @dataclass(frozen=True)")
        config = ConfigDict(extra="forbid", allow_inf_nan=False)
        found["Settings"].__pydantic_config__ = config
    return found


def _text(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    return ""
