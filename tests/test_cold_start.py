"""Jobs that start together with an empty compile cache do not crash, and give equal numbers."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import shutil
from pathlib import Path

import pytest
from numba.extending import is_jitted

from shiftbench.core import instructions
from tests import compiled_code

LOSSES = """
import sys
import numpy as np
from shiftbench.methods.posteriors import beta_posterior
from shiftbench.methods.online import losses

before = (beta_posterior.digamma, beta_posterior.trigamma)
[function(1.5) for function in before[: int(sys.argv[1])]]
print(*losses.Loss("hinge").expected(np.ones(3), np.arange(3.0), np.ones(3)))
"""


@pytest.mark.long
def test_losses_compiled_side_by_side(tmp_path) -> None:
    """Processes with an empty cache compile the same functions at once."""
    together = compiled_code.side_by_side(tmp_path, [["-c", LOSSES, n] for n in "012"])
    later = compiled_code.side_by_side(tmp_path, [["-c", LOSSES, "0"]])
    assert [status for status, _ in together + later] == [0] * 4
    assert len({output for _, output in together + later}) == 1


@pytest.mark.long
def test_all_compiled_code_side_by_side(tmp_path) -> None:
    together = compiled_code.side_by_side(tmp_path, map(compiled_code.command, range(0, 12, 3)))
    later = compiled_code.side_by_side(tmp_path, [compiled_code.command(0)])
    assert [status for status, _ in together + later] == [0] * 5
    said = [json.loads(output) for _, output in together + later]
    assert all(one["digests"] == said[0]["digests"] for one in said)
    for function in said[0]["signatures"]:
        known = {signature for one in said for signature in one["signatures"][function]}
        # More than one is unsafe, see core/compiled_cache.py: give the arguments one type.
        assert len(known) == 1, function


@pytest.mark.long
@pytest.mark.skipif(not instructions.available(), reason="all instructions are native here")
def test_each_kind_of_instructions_has_a_folder_of_its_own(tmp_path) -> None:
    code = "import sys; from shiftbench import __main__; "
    code += "__main__.main(['--instructions', sys.argv[1], 'list', 'models']); "
    code += "from shiftbench.methods.posteriors.beta_posterior import digamma; digamma(1.5)"
    ran = compiled_code.side_by_side(tmp_path, [["-c", code, k] for k in instructions.KINDS])
    assert [status for status, _ in ran] == [0, 0]
    assert len(list(tmp_path.glob("shiftbench/compiled-*"))) == 2


@pytest.mark.long
def test_another_checkout_compiles_nothing(tmp_path) -> None:
    [first] = compiled_code.side_by_side(tmp_path, [["-c", LOSSES, "2"]])
    compiled = _files(tmp_path)
    assert any(file.suffix == ".nbc" for file in compiled)
    [second] = compiled_code.side_by_side(tmp_path, [["-c", LOSSES, "2"]], _copy(tmp_path))
    assert first == second
    assert _files(tmp_path) == compiled


@pytest.mark.long
def test_other_sources_have_a_folder_of_their_own(tmp_path) -> None:
    source = _copy(tmp_path)
    with (source / "shiftbench" / "methods" / "online" / "losses.py").open("a") as file:
        file.write("# a comment\n")
    where = "from shiftbench.core import compiled_cache; print(compiled_cache._name('portable'))"
    [ours] = compiled_code.side_by_side(tmp_path, [["-c", where]])
    [theirs] = compiled_code.side_by_side(tmp_path, [["-c", where]], source)
    assert ours != theirs


@pytest.mark.long
def test_without_a_folder_of_the_user_code_lies_in_the_package(tmp_path) -> None:
    source, home = _copy(tmp_path), tmp_path / "home"
    home.write_text("no folder")
    [(status, _)] = compiled_code.side_by_side(home, [["-c", LOSSES, "0"]], source)
    assert status == 0
    assert list((source / "shiftbench" / "__pycache__").glob("compiled-*/methods/online/*.nbc"))


def test_compiled_code_takes_nothing_from_files_without_compiled_code() -> None:
    """Otherwise numba would keep code that contains an old function or constant."""
    modules = {module.__name__: module for module in compiled_code.modules()}
    for name, module in modules.items():
        origins = _imported(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for function in vars(module).values():
            if is_jitted(function) and function.__module__ == name:
                code = inspect.unwrap(function.py_func).__code__
                used = {origins[n] for n in code.co_names if n in origins}
                assert used <= modules.keys(), (name, function, used - modules.keys())


def _imported(text: str) -> dict[str, str]:
    """Return the names that a module imports from the package, each with the module it is from."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("shiftbench"):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                is_module = importlib.util.find_spec(str(node.module)).submodule_search_locations
                found[alias.asname or alias.name] = inside if is_module else str(node.module)
    return found


def _copy(folder: Path) -> Path:
    """Copy the package without compiled files and return the folder."""
    source = folder / "src"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(compiled_code.PACKAGE, source / "shiftbench", ignore=ignored)
    return source


def _files(folder: Path) -> dict[Path, int]:
    """Return all files of compiled code with their modification times."""
    files = (folder / "shiftbench").rglob("*")
    return {file: file.stat().st_mtime_ns for file in files if file.is_file()}
