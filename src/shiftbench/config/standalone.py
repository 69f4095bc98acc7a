"""Executes the declarations of components, without the rest of their files.

Other parts of a file import TensorFlow, SciPy or xarray, which takes longer than checking a config.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import traceback
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import annotated_types

from shiftbench.core.checkout import PACKAGE
from shiftbench.core.errors import UserError
from shiftbench.core.facts import Facts
from shiftbench.core.metric import Metric

REMEDY = (
    "declarations are read without the rest of the file; they are made of literals, constants of"
    " the file, Facts, Metric and functools.partial, and what dataclasses, typing and"
    " annotated_types have"
)
KNOWN: dict[str, Any] = {
    "Facts": Facts,
    "Metric": Metric,
    "partial": functools.partial,
    "dataclass": dataclasses.dataclass,
    "field": dataclasses.field,
    **{key: getattr(module, key) for module in (typing, annotated_types) for key in module.__all__},
}
"""All that declarations can use, by its name."""


def read(tree: ast.Module, file: Path, wanted: Iterable[str]) -> dict[str, Any]:
    """Return the values of the names that a module declares, with the constants that they need.

    A base class, and a function that `unsupported` calls, may be imported from a module of this
    package, which is read in the same way. Scores of metrics become None, since they need the rest
    of the module. UserError with the line where a declaration needs more than REMEDY says.
    """
    own = {name: node for node in tree.body if not _imports(node) for name in bound(node)}
    inherited: dict[str, Any] = {}
    needed, waiting = set[str](), [*wanted]
    while waiting:
        name = waiting.pop()
        if name in own and name not in needed:
            needed.add(name)
            found: ast.AST = own[name]
            inherited |= _inherited(tree, found)
            node = (
                found.args if isinstance(found, ast.FunctionDef) else _WithoutScore().visit(found)
            )
            waiting += [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    body = [node for node in tree.body if bound(node) & needed and not _imports(node)]
    namespace = {"__name__": str(file), **KNOWN, **inherited}
    try:
        exec(compile(ast.Module(body, []), str(file), "exec", dont_inherit=True), namespace)
    except Exception as error:
        lines = [at.lineno for at in traceback.extract_tb(error.__traceback__)]
        where = f"{file}, line {lines[1]}" if len(lines) > 1 else str(file)
        raise UserError(f"{where}: {type(error).__name__}: {error}; {REMEDY}") from None
    return {name: namespace[name] for name in wanted if name in own}


def metrics(tree: ast.Module, file: Path) -> list[Metric]:
    """Return the rows of METRICS, with None as their scores; UserError if a file has none."""
    rows = read(tree, file, ["METRICS"]).get("METRICS")
    if rows is None:
        raise UserError(f"{file}: a file of metrics declares METRICS, a list of Metric(...)")
    if not isinstance(rows, list) or not all(isinstance(row, Metric) for row in rows):
        raise UserError(f"{file}: METRICS is not a list of metrics; {REMEDY}")
    names = [row.name for row in rows]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f'{file}: two metrics are called "{twice[0]}"; rename one')
    return rows


def imported(tree: ast.Module, name: str) -> tuple[Path, str] | None:
    """Return the file of this package from which a module imports a name, and its name there.

    None for a name from elsewhere.
    """
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and name in bound(statement):
            package, *inside = (statement.module or "").split(".")
            file = PACKAGE.joinpath(*inside).with_suffix(".py")
            (there,) = [one.name for one in statement.names if name in (one.asname, one.name)]
            return (file, there) if package == PACKAGE.name and file.is_file() else None
    return None


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds."""
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return {name}
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        case ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name for alias in aliases}
    return set()


def _imports(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _inherited(tree: ast.Module, statement: ast.AST) -> dict[str, Any]:
    """Return what a class or a function needs that is imported from this package."""
    used: list[ast.expr] = []
    if isinstance(statement, ast.ClassDef):
        used = statement.bases
    elif isinstance(statement, ast.FunctionDef):
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        used = [call.func for call in calls]
    found: dict[str, Any] = {}
    for name in map(ast.unparse, used):
        if origin := imported(tree, name):
            file, there = origin
            found[name] = read(ast.parse(file.read_text("utf-8")), file, [there])[there]
    return found


class _WithoutScore(ast.NodeTransformer):
    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "score":
            node.value = ast.copy_location(ast.Constant(None), node.value)
        return self.generic_visit(node)
