"""Fingerprints of code: of a module and of everything in the package that it imports.

Comments, docstrings and layout do not count, so that they rerun no job. A YAML file with
the name of a module (published.yaml beside published.py) counts as part of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from shiftbench.planning.components import syntax_tree

SOURCE = Path(__file__).parents[2]
PACKAGE = "shiftbench"


def code(*modules: str) -> str:
    """One digest of the modules (dotted names) and their import closure."""
    return _combined(closure(*modules))


def imports(module: str, package: str) -> bool:
    """Whether a module, or anything of shiftbench that it imports, imports `package`."""
    return package in foreign(module)


def foreign(*modules: str) -> frozenset[str]:
    """What the modules and their import closure import that is not of shiftbench."""
    return frozenset().union(*(_imported(name)[1] for name in closure(*modules)))


def closure(*modules: str) -> frozenset[str]:
    """The modules and all modules of shiftbench that they import, however indirectly."""
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(_imported(name)[0])
    return frozenset(seen)


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
    """Drops docstrings, those of attributes too, and the version of the package."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        return None if ast.unparse(node.targets[0]) == "__version__" else node


@functools.cache
def _imported(module: str) -> tuple[frozenset[str], frozenset[str]]:
    """The modules of shiftbench, and the foreign packages, that a module imports itself."""
    names = set(_names(module, _without_typing(_tree(module))))
    own = {f"{PACKAGE}.{part}" for name in names for part in _parts(name) if _is_module(part)}
    parents = {module.rpartition(".")[0]} - {""}
    foreign = {name.partition(".")[0] for name in names} - {PACKAGE}
    return frozenset(own | parents), frozenset(foreign)


def _names(module: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Dotted names after `import`; of `from x import y`, x and x.y, since y may be a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [_package(module, node.level), node.module]))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _package(module: str, level: int) -> str:
    """The package that `level` leading dots mean inside a module."""
    if level == 0:
        return ""
    parts = module.split(".")
    if _file(module).name != "__init__.py":
        level += 1
    return ".".join(parts[: len(parts) - level + 1])


def _parts(name: str) -> list[str]:
    """For shiftbench.a.b: "a" and "a.b", since importing b runs a as well."""
    head, *rest = name.split(".")
    return [".".join(rest[: end + 1]) for end in range(len(rest))] if head == PACKAGE else []


def _without_typing(node: ast.AST) -> Iterator[ast.AST]:
    """All statements but those under `if TYPE_CHECKING:`, which never runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _without_typing(child)


def _is_module(part: str) -> bool:
    path = SOURCE / PACKAGE / part.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _file(module: str) -> Path:
    path = SOURCE / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _tree(module: str) -> ast.Module:
    return syntax_tree(_file(module))
