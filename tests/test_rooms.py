"""The rooms of the house: which may read which, and that learners/ holds methods only."""

from __future__ import annotations

import pytest

from shiftbench import _compiled
from shiftbench.planning import components, digest

ARROWS = {
    "verbs": {
        "site",
        "cluster",
        "contract",
        "forecast",
        "overview",
        "artefacts",
        "scoring",
        "running",
        "publishing",
        "planning",
        "store",
    },
    "site": {"overview", "artefacts", "publishing", "scoring", "planning", "store"},
    "overview": {"artefacts", "publishing", "scoring", "planning", "store"},
    "artefacts": {"scoring", "theory", "posteriors", "planning"},
    "scoring": {"theory", "online", "words", "planning", "store"},
    "theory": {"online", "posteriors", "planning"},
    "running": {"combinators", "planning", "store"},
    "combinators": {"online", "words"},
    "learners": {"networks", "online", "words", "posteriors", "models"},
    "words": {"networks", "posteriors"},
    "networks": {"posteriors", "models"},
    "online": {"posteriors"},
    "posteriors": set(),
    "models": set(),
    "streams": {"store"},
    "contract": {"models", "online", "planning", "store"},
    "publishing": {"forecast", "scoring", "running", "planning", "store"},
    "forecast": {"running", "planning", "store"},
    "cluster": {"planning"},
    "planning": {"store"},
    "store": set(),
}
"""The rooms that each room may read, beside itself and the modules that are in no room."""

ENTRANCES = {"cli", "__main__", "warm_server"}
"""What starts processes: nothing imports the command line but these, and they may import all."""


def _modules(room: str) -> list[str]:
    """Dotted names of all modules of a room."""
    files = (components.PACKAGE / room).rglob("*.py")
    names = [".".join(file.relative_to(digest.SOURCE).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


def _room(module: str) -> str | None:
    """The room of a module; None of the package itself and of modules in no room."""
    first = module.split(".")[1] if "." in module else ""
    return first if first in ARROWS else None


def test_every_folder_is_a_room() -> None:
    folders = {path.parent.name for path in components.PACKAGE.glob("*/__init__.py")}
    assert folders == set(ARROWS)


@pytest.mark.parametrize("room", ARROWS)
def test_arrows_go_one_way(room) -> None:
    wrong = [
        f"{module} imports {other}"
        for module in _modules(room)
        for other in digest._imported(module)[0]
        if _room(other) not in {room, None, *ARROWS[room]} or other == "shiftbench.cli"
    ]
    assert not wrong


def test_no_two_rooms_read_each_other() -> None:
    """However indirectly: rooms can be taken out one after the other, each without readers."""
    left = dict(ARROWS)
    while left:
        unread = set(left) - set().union(*left.values())
        assert unread, f"a circle among {sorted(left)}"
        left = {room: read for room, read in left.items() if room not in unread}


def test_what_is_in_no_room_reads_none() -> None:
    for file in components.PACKAGE.glob("[!_]*.py"):
        if file.stem not in ENTRANCES:
            imported = digest._imported(f"shiftbench.{file.stem}")[0]
            assert not {other for other in imported if _room(other)}, file.stem
            assert "shiftbench.cli" not in imported


def test_the_room_of_learners_holds_methods_and_nothing_else() -> None:
    files = {path.stem for path in (components.PACKAGE / "learners").iterdir() if path.is_file()}
    names = components.names("learners")
    assert files == {"__init__", *(name.replace("-", "_") for name in names)}
    assert all(components.defines("learners", name, "build") for name in names)


@pytest.mark.parametrize(
    "room", ["artefacts", "overview", "planning", "scoring", "store", "streams", "theory"]
)
def test_what_does_not_learn_starts_without_tensorflow(room) -> None:
    assert not [name for name in _modules(room) if digest.imports(name, "tensorflow")]


@pytest.mark.parametrize("room", ARROWS)
def test_compiled_code_is_kept_by_all_its_sources(room) -> None:
    """numba's cache is keyed by the files of some rooms; no other one may have compiled code."""
    compiled = [name for name in _modules(room) if "numba" in digest._imported(name)[1]]
    assert not compiled or room in _compiled.FOLDERS
