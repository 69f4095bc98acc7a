"""`shiftbench plan` names the jobs that Snakemake then plans, and what has changed.

On a copy of the repository whose jobs only make their files, as in test_rerun.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.test_rerun import CODE, COMMENT, _snakemake, edit, finished  # noqa: F401

LIMIT = 600
"""Seconds that no call takes; they only end a hang."""


def _planned(folder: Path) -> list[dict]:
    """The jobs of `shiftbench plan`, as the copy's own code tells them."""
    call = "import sys; from shiftbench.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", call, "plan", "config/mine.yaml", "--json"],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["jobs"]


def _dry(folder: Path) -> Counter[str]:
    """How many jobs of each rule Snakemake would run."""
    done = _snakemake(folder, "--dry-run", "--quiet", "reason")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.partition("-------  -------\n")[2] or done.stdout.partition("--\n")[2]
    rows = [line.split() for line in lines.partition("\n\n")[0].splitlines()]
    named = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    return Counter({rule: number for rule, number in named.items() if rule not in ("all", "total")})


EDITS = {
    "a comment": ("src/shiftbench/learners/map.py", [COMMENT], []),
    "a function": (
        "src/shiftbench/learners/map.py",
        [("\ndef build(", "\ndef added():\n    return 1\n\n\ndef build(")],
        ["code: shiftbench.learners.map.added"],
    ),
    "a constant of what many import": (
        "src/shiftbench/scoring/metrics/jump_f1.py", [CODE],
        ["code: shiftbench.scoring.metrics.jump_f1.EXTRA"],
    ),
    "a key of a method": (
        "config/mine.yaml",
        [("search: [beam, gaussian-mean]", "search: [beam: {size: 3}, gaussian-mean]")],
        ["config: beam.size: 6 -> 3"],
    ),
    "a key of a stream": (
        "config/mine.yaml", [("points: 12", "points: 13")],
        ["config: stream.settings.points: 12 -> 13"],
    ),
    "more seeds": ("config/mine.yaml", [("seeds: 4", "seeds: 6")], ["new: never run"]),
    "a package": (
        "envs/requirements.lock", [("scipy==", "scipy==9")], ["packages: scipy"],
    ),
    "a raw file": (
        "src/shiftbench/store/raw_files.yaml", [("sha256", "sha256")], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_plan_is_what_snakemake_plans(finished: Path, edit: Callable, name: str) -> None:  # noqa: F811
    file, replacements, told = EDITS[name]
    edit(file, *replacements)
    planned = _planned(finished)
    assert Counter(job["rule"] for job in planned) == _dry(finished)
    said = {f"{one['kind']}: {one['words']}" for job in planned for one in job["reasons"]}
    for words in told:
        assert any(one.startswith(words) for one in said), said
