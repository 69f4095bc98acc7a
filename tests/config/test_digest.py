"""The digest of code follows imports and depends only on meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.config import digest

FILES = {
    "__init__.py": '__version__ = "1.0"\n',
    "learners/__init__.py": "",
    "learners/a.py": "from shiftbench.learners import _shared\nimport tensorflow as tf\n",
    "learners/_shared.py": "from ..store.files import read\n",
    "learners/b.py": "def f():\n    import shiftbench.store.files\n    return 1\n",
    "learners/c.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tensorflow\n"
        "    from shiftbench.learners import a\n"
    ),
    "store/__init__.py": "",
    "store/files.py": '"""Doc."""\n\n\ndef read(x):\n    """Doc."""\n    return x + 1\n',
    "store/files.yaml": "one: 1\n",
    "store/other.py": "x = 1\n",
}


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "shiftbench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(digest, "SOURCE", tmp_path)
    _forget()
    yield tmp_path / "shiftbench"
    _forget()


def _forget() -> None:
    for cached in (digest._combined, digest._content, digest.imported):
        cached.cache_clear()


def _code(module: str) -> str:
    _forget()
    return digest.code(f"shiftbench.{module}")


def test_closure_follows_absolute_relative_and_local_imports(source) -> None:
    packages = {"shiftbench", "shiftbench.learners", "shiftbench.store"}
    assert digest.closure("shiftbench.learners.a") == packages | {
        "shiftbench.learners.a", "shiftbench.learners._shared", "shiftbench.store.files",
    }  # fmt: skip
    assert "shiftbench.store.files" in digest.closure("shiftbench.learners.b")


def test_imports_for_type_checkers_only_do_not_count(source) -> None:
    assert "shiftbench.learners.a" not in digest.closure("shiftbench.learners.c")
    assert not digest.imports("shiftbench.learners.c", "tensorflow")


def test_foreign_imports(source) -> None:
    assert digest.imports("shiftbench.learners.a", "tensorflow")
    assert not digest.imports("shiftbench.learners.b", "tensorflow")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("store/files.py", "x + 1", "x + 2"),
        ("store/files.py", "def read(x)", "def read(x=1)"),
        ("store/files.yaml", "1", "2"),
        ("learners/_shared.py", "import read", "import read as r"),
    ],
)
def test_meaning_counts(source, file: str, old: str, new: str) -> None:
    before = _code("learners.a")
    path = source / file
    path.write_text(path.read_text().replace(old, new))
    assert _code("learners.a") != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("store/files.py", "Doc", "Words"),
        ("store/files.py", "x + 1", "(x +\n        1)  # more"),
        ("store/other.py", "1", "2"),
        ("__init__.py", "1.0", "2.0"),
    ],
)
def test_words_layout_version_and_strangers_do_not_count(source, file, old, new) -> None:
    before = _code("learners.a")
    path = source / file
    path.write_text(path.read_text().replace(old, new))
    assert _code("learners.a") == before


def test_documentation_of_attributes_does_not_count(source) -> None:
    path = source / "store/files.py"
    path.write_text('class A:\n    x: int = 1\n    """One."""\n')
    before = _code("learners.a")
    path.write_text('class A:\n    x: int = 1\n    """Another."""\n')
    assert _code("learners.a") == before


@pytest.mark.parametrize("module", ["evaluation.running.harness", "evaluation.scoring.summarise"])
def test_what_only_plans_is_no_part_of_the_code_of_runs_and_scores(module) -> None:
    _forget()
    found = {name.rpartition(".")[2] for name in digest.closure(f"shiftbench.{module}")}
    plans = {"specs", "config_checks", "compatibility", "claims", "schema", "tuning"}
    assert not found & (plans | {"suggestions", "result_paths"})
