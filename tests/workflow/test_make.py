"""`make run` gives the config to the workflow, whatever its path."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_takes_a_config_whose_path_has_to_be_quoted(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "installed").touch()
    config = "my configs (2)/it's $HOME & more/walk.yaml"
    # As from a shell, not as from the make that runs the tests.
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "run", f"BIN={tmp_path}", f"STAMP={tmp_path}/installed",
         f"CONFIG={config.replace('$', '$$')}", "ARGS=--cores 1"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    module = ["-m", "shiftbench"]
    snakemake = [f"{tmp_path}/snakemake", "--configfile", config, "--report"]
    report = ["results/walk/report.html", "--report-after-run", "--cores", "1"]
    assert done.stdout.splitlines() == [
        *module, "check", config, *module, "warm", "--", *snakemake, *report,
    ]  # fmt: skip
