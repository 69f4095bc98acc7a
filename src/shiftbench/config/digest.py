"""Digests of code: a module with all modules of this package or of its user that it imports.

Comments, docstrings and layout do not count, so that they rerun no job. A YAML file with
the name of a module (paper_numbers.yaml beside paper_numbers.py) counts as part of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from shiftbench.config import components
from shiftbench.config.components import OURS

SOURCE = Path(__file__).parents[2]
SHORT = 12
"""Digits of a short digest. A collision would only make an explanation wrong."""


def code(*modules: str) -> str:
    """Return one digest of the modules (dotted names) and their import closure."""
    return _combined(closure(*modules))


def contents(*modules: str) -> dict[str, str]:
    """Return the modules behind a digest of `code`, each with its own short digest."""
    return {name: _content(name)[:SHORT] for name in sorted(closure(*modules))}


def files(*modules: str) -> list[str]:
    """Return the files of the modules and their import closure, each as PACKAGE/PLACE/IN/IT.py."""
    found = []
    for module in closure(*modules):
        package = module.partition(".")[0]
        folder = SOURCE / OURS if package == OURS else components.packages()[package]
        found.append(f"{package}/{_file(module).relative_to(folder).as_posix()}")
    return found


def imports(module: str, package: str) -> bool:
    """Return whether a module, or any module that it imports, imports `package`."""
    return package in foreign(module)


@functools.cache
def foreign(*modules: str) -> frozenset[str]:
    """Return the names of the other packages that the modules and their imports import."""
    return frozenset().union(*(imported(name)[1] for name in closure(*modules)))


@functools.cache
def closure(*modules: str) -> frozenset[str]:
    """Return the modules and all that they import, directly or not, of this or users' packages."""
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(imported(name)[0])
    return frozenset(seen)


def definitions(module: str) -> dict[str, str]:
    """Return a short digest of each definition of a module, by its qualified name.

    Assignments outside of functions and classes count under the names that they set, imports under
    "imports", and everything else, with a YAML file beside the module, under "the module".
    """
    found: dict[str, list[str]] = {}
    for name, node in _defined(_Bare().visit(_tree(module)).body):
        found.setdefault(name, []).append(ast.dump(node))
    data = _file(module).with_suffix(".yaml")
    if data.exists():
        found.setdefault(data.name, []).append(data.read_text(encoding="utf-8"))
    return {
        name: hashlib.sha256("\n".join(parts).encode()).hexdigest()[:SHORT]
        for name, parts in found.items()
    }


def _defined(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield the statements of a module with the names that they define, in classes one by one."""
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                head = ast.ClassDef(name, node.bases, node.keywords, [], node.decorator_list)
                yield f"{within}{name}", head
                yield from _defined(inner, f"{within}{name}.")
            case ast.FunctionDef(name=name):
                yield f"{within}{name}", node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{within}{name}", node
            case ast.Import() | ast.ImportFrom():
                yield f"{within}imports", node
            case _:
                yield f"{within}the module", node


@functools.cache
def _combined(modules: frozenset[str]) -> str:
    lines = [f"{name} {_content(name)}" for name in sorted(modules)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@functools.cache
def _content(module: str) -> str:
    tree = _Bare().visit(_tree(module))
    digest = hashlib.sha256(ast.dump(tree).encode())
    data = _file(module).with_suffix(".yaml")
    if data.exists():
        digest.update(data.read_bytes())
    return digest.hexdigest()


class _Bare(ast.NodeTransformer):
    """Remove docstrings (also of attributes and metrics) and the version of the package."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        name = ast.unparse(node.targets[0])
        for row in ast.walk(node) if name == "METRICS" else ():
            if isinstance(row, ast.Call):
                row.keywords = [keyword for keyword in row.keywords if keyword.arg != "about"]
        return None if name == "__version__" else node


@functools.cache
def imported(module: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the imports of one module: modules of this or users' packages; other packages."""
    names = set(_names(module, _without_typing(_tree(module))))
    own = {part for name in names for part in _parts(name) if _is_module(part)}
    parents = {module.rpartition(".")[0]} - {""}
    foreign = {name.partition(".")[0] for name in names} - components.packages().keys()
    return frozenset(own | parents), frozenset(foreign)


def _names(module: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield imported names; for `from x import y`, both x and x.y, because y may be a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [_package(module, node.level), node.module]))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _package(module: str, level: int) -> str:
    """Return the package that `level` leading dots mean inside a module."""
    if level == 0:
        return ""
    parts = module.split(".")
    if _file(module).name != "__init__.py":
        level += 1
    return ".".join(parts[: len(parts) - level + 1])


def _parts(name: str) -> list[str]:
    """Return a module and its parent packages, which its import also runs."""
    head, *rest = name.split(".")
    known = rest if head in components.packages() else []
    return [".".join([head, *known[: end + 1]]) for end in range(len(known))]


def _without_typing(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements except those under `if TYPE_CHECKING:`, which never run."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _without_typing(child)


def _is_module(name: str) -> bool:
    path = _path(name)
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _file(module: str) -> Path:
    path = _path(module)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _path(module: str) -> Path:
    """Return the path of a module without its suffix."""
    package, _, inside = module.partition(".")
    folder = SOURCE / OURS if package == OURS else components.packages()[package]
    return folder / inside.replace(".", "/")


def _tree(module: str) -> ast.Module:
    """Return the syntax tree of a module; of a user's folder without __init__.py an empty one."""
    file = _file(module)
    if file.name == "__init__.py" and not file.exists() and module.partition(".")[0] != OURS:
        return ast.Module([], [])
    return components.syntax_tree(file)
