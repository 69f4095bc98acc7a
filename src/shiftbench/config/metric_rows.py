"""Read the metrics of a file from its syntax tree, since importing xarray would slow `check` down.

Only METRICS and the constants that it uses are executed; `score` is left out, since it names
functions that need the rest of the module.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

from shiftbench.core.errors import UserError
from shiftbench.core.metric import Metric

REMEDY = "rows are Metric(...) of literals and constants of the file, or a functools.partial of it"


def declared(tree: ast.Module, file: Path) -> list[Metric]:
    """Return the rows of METRICS, each with None as its score.

    UserError with the file where there is no such list, or it needs more than REMEDY says.
    """
    constants = {name: statement for statement in tree.body for name in _assigned(statement)}
    if "METRICS" not in constants:
        raise UserError(f"{file}: a file of metrics declares METRICS, a list of Metric(...)")
    needed = _needed("METRICS", constants)
    body = [statement for name, statement in constants.items() if name in needed]
    namespace: dict[str, object] = {"Metric": Metric, "partial": partial}
    try:
        exec(compile(ast.Module(body, []), str(file), "exec", dont_inherit=True), namespace)
    except Exception as error:
        where = f"{file}: METRICS, {type(error).__name__}: {error}"
        raise UserError(f"{where}; {REMEDY}") from None
    rows = namespace["METRICS"]
    if not isinstance(rows, list) or not all(isinstance(row, Metric) for row in rows):
        raise UserError(f"{file}: METRICS is not a list of metrics; {REMEDY}")
    names = [row.name for row in rows]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f'{file}: two metrics are called "{twice[0]}"; rename one')
    return rows


def _assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _needed(name: str, constants: dict[str, ast.stmt]) -> set[str]:
    """Return the constants that one of them is made from, with itself; drop all scores."""
    needed, waiting = set[str](), [name]
    while waiting:
        name = waiting.pop()
        if name in constants and name not in needed:
            needed.add(name)
            node = _WithoutScore().visit(constants[name])
            waiting += [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return needed


class _WithoutScore(ast.NodeTransformer):
    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "score":
            node.value = ast.copy_location(ast.Constant(None), node.value)
        return self.generic_visit(node)
