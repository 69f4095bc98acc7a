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


def test_each_target_has_a_recipe_or_needs_one_and_is_explained() -> None:
    text = (ROOT / "Makefile").read_text()
    (declared,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    explained = dict(re.findall(r"^([a-z-]+):(.*?)## .", text, re.MULTILINE))
    assert set(declared.split()) == set(explained)
    for target, needs in explained.items():
        recipe = re.search(rf"^{target}:.*\n\t", text, re.MULTILINE)
        assert recipe or needs.strip(), f"make {target} does nothing"
