"""`make` passes on the config, whatever its path, and each target does something."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.checkout import ROOT


@pytest.mark.parametrize(("target", "arguments"), [("run", ["--", "--cores", "1"]), ("check", [])])
def test_make_takes_a_config_whose_path_has_to_be_quoted(
    tmp_path: Path, target: str, arguments: list[str]
) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "installed").touch()
    config = "my configs (2)/it's $HOME & more/walk.yaml"
    # as from a shell, and not from the make that runs the tests
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", target, f"BIN={tmp_path}", f"STAMP={tmp_path}/installed",
         f"CONFIG={config.replace('$', '$$')}", "ARGS=--cores 1"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["-m", "shiftbench", target, config, *arguments]


@pytest.mark.parametrize("writable", [True, False])
def test_packages_are_installed_without_a_cache_where_none_can_be_written(
    tmp_path: Path, writable: bool
) -> None:
    (tmp_path / "uv").write_text("#!/bin/sh\nprintf '%s\\n' \"$*\"\n")
    (tmp_path / "uv").chmod(0o755)
    (tmp_path / "installed").touch()
    home = tmp_path / "home" if writable else "/dev/null"
    kept = ("PATH", "LANG", "LC_ALL")
    environment = {name: text for name, text in os.environ.items() if name in kept}
    done = subprocess.run(
        ["make", "peers", f"BIN={tmp_path}", f"STAMP={tmp_path}/installed",
         f"PEERS={tmp_path}/peers"],
        cwd=ROOT, env=environment | {"HOME": str(home)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first = {line.split()[0] for line in done.stdout.splitlines()}
    assert first == ({"venv", "pip"} if writable else {"--no-cache"})


def test_each_target_has_a_recipe_or_needs_one_and_is_explained() -> None:
    text = (ROOT / "Makefile").read_text()
    (declared,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    explained = dict(re.findall(r"^([a-z-]+):(.*?)## .", text, re.MULTILINE))
    assert set(declared.split()) == set(explained)
    for target, needs in explained.items():
        recipe = re.search(rf"^{target}:.*\n\t", text, re.MULTILINE)
        assert recipe or needs.strip(), f"make {target} does nothing"
