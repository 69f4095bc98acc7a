"""Which package may import which, and what the folders of components contain."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from shiftbench.config import components, digest
from shiftbench.core import checkout, compiled_cache

BELOW = {
    "cli": {"contract", "publish", "forecast", "evaluation", "runtime", "config", "data", "core"},
    "adapters": {"api", "core"},
    "api": {"evaluation", "runtime", "config", "data", "core"},
    "contract": {"evaluation", "methods", "runtime", "config", "data", "core"},
    "publish": {"forecast", "evaluation", "runtime", "config", "data", "core"},
    "forecast": {"evaluation", "config", "data", "core"},
    "evaluation": {"methods", "config", "data", "core"},
    "runtime": {"config", "data", "core"},
    "config": {"data", "core"},
    "data": {"core"},
    "methods": {"core"},
    "core": set(),
}
"""The packages, each with those that it may import. CONTRIBUTING.md draws the same."""

WITHOUT_TENSORFLOW = """
import sys
from shiftbench.config import components
for kind in components.FOLDERS:
    for name in components.names(kind):
        components.load(kind, name)
assert "shiftbench.methods.learners.mfvi" in sys.modules
assert not {"tensorflow", "tensorflow_probability", "tf_keras"} & sys.modules.keys()
"""
NEVER = ("config", "data", "forecast", "publish", "runtime", "evaluation.artefacts")
"""Packages that must not import TensorFlow, so that their jobs do not depend on its version."""


def _modules(package: str) -> list[str]:
    """Return the dotted names of all modules of a package."""
    files = (checkout.PACKAGE / package.replace(".", "/")).rglob("*.py")
    names = [".".join(file.relative_to(digest.SOURCE).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


def _package(module: str) -> str:
    """Return the package of a module; empty for the root."""
    return module.split(".")[1] if "." in module else ""


def test_the_table_of_the_documentation_is_this_one() -> None:
    text = (digest.SOURCE.parent / "CONTRIBUTING.md").read_text()
    (table,) = re.findall(r"^```text\npackage .*\n((?:.+\n)+?)```", text, re.MULTILINE)
    rows = [re.split(r"\s{2,}", line) for line in table.splitlines()]
    assert {name: set("".join(below).split()) for name, _, *below in rows} == BELOW


def test_every_folder_is_a_package_of_the_house() -> None:
    assert {path.parent.name for path in checkout.PACKAGE.glob("*/__init__.py")} == set(BELOW)
    files = {path.stem for path in checkout.PACKAGE.glob("*.py")}
    assert files == {"__init__", "__main__"}


def test_the_command_line_reads_its_options_without_packages_of_workflows() -> None:
    """A plain install has none of them, and each takes a second to import."""
    code = "import sys; from shiftbench.cli import parser; parser.make(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"zarr", "xarray", "pandas", "matplotlib", "snakemake"} & {*done.stdout.split()}


@pytest.mark.parametrize("package", BELOW)
def test_arrows_go_down_only(package) -> None:
    wrong = [
        f"{module} imports {other}"
        for module in _modules(package)
        for other in digest.imported(module)[0]
        if _package(other) not in {"", package, *BELOW[package]}
    ]
    assert not wrong


@pytest.mark.parametrize("package", BELOW)
def test_every_arrow_is_used(package) -> None:
    used = {_package(other) for module in _modules(package) for other in digest.imported(module)[0]}
    assert used - {"", package} == BELOW[package]


def test_packages_are_in_order() -> None:
    """Each package imports only packages below it in the table."""
    order = list(BELOW)
    for package, below in BELOW.items():
        assert below <= set(order[order.index(package) + 1 :]), package


def test_no_two_sub_packages_import_each_other() -> None:
    """Import cycles are excluded, including indirect ones."""
    left: dict[str, set[str]] = {}
    for package in BELOW:
        for module in _modules(package):
            here = module.rpartition(".")[0] if _is_file(module) else module
            read = left.setdefault(here, set())
            for other in digest.imported(module)[0]:
                if _is_file(other):
                    read.add(other.rpartition(".")[0])
    left = {here: read - {here} for here, read in left.items()}
    while left:
        unread = set(left) - set().union(*left.values())
        assert unread, f"a circle among {sorted(left)}"
        left = {here: read for here, read in left.items() if here not in unread}


def _is_file(module: str) -> bool:
    """Return whether a module is a file other than an `__init__`."""
    return (digest.SOURCE / module.replace(".", "/")).with_suffix(".py").exists()


def test_the_folder_of_learners_holds_methods_and_nothing_else() -> None:
    folder = checkout.PACKAGE / "methods" / "learners"
    files = {path.stem for path in folder.iterdir() if path.is_file()}
    names = components.names("learners")
    assert files == {"__init__", *(name.replace("-", "_") for name in names)}
    assert all(components.defines("learners", name, "build") for name in names)


@pytest.mark.long
def test_every_component_is_imported_without_tensorflow() -> None:
    """TensorFlow is loaded on first use, since its import takes seconds."""
    subprocess.run([sys.executable, "-c", WITHOUT_TENSORFLOW], check=True)


@pytest.mark.parametrize("package", [*NEVER, "evaluation.overview", "evaluation.scoring"])
def test_what_does_not_learn_has_no_use_for_tensorflow(package) -> None:
    assert not [name for name in _modules(package) if digest.imports(name, "tensorflow")]


@pytest.mark.parametrize("package", BELOW)
def test_compiled_code_is_cached_by_all_its_sources(package) -> None:
    """numba's cache is keyed by the files of some packages; no other package may compile."""
    compiled = [name for name in _modules(package) if "numba" in digest.imported(name)[1]]
    allowed = {"shiftbench.cli.forkserver", "shiftbench.core.compiled_cache"}
    assert package in compiled_cache.FOLDERS or allowed.issuperset(compiled)
