"""`shiftbench plan` names the jobs that Snakemake then plans, and the changes.

It runs on a copy of the repository whose jobs only make their files, as in test_rerun.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forked
from tests.workflow import copies
from tests.workflow.conftest import COMMENT

# In the copy, `python -m shiftbench` is the fake program.
PROGRAM = "import sys; from shiftbench.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _planned(folder: Path) -> list[dict]:
    """Return the jobs of `shiftbench plan`, run with the copy's own code."""
    (folder / "program.py").write_text(PROGRAM)
    arguments = ("plan", "config/mine.yaml", "--json")
    done = forked.python("program", *arguments, cwd=folder, source=folder / "src")
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout)["jobs"]


def _dry(folder: Path) -> Counter[str]:
    """Return how many jobs of each rule Snakemake would run."""
    done = copies.snakemake(folder, "--dry-run", "--quiet", "reason")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.partition("-------  -------\n")[2] or done.stdout.partition("--\n")[2]
    rows = [line.split() for line in lines.partition("\n\n")[0].splitlines()]
    named = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    return Counter({rule: number for rule, number in named.items() if rule not in ("all", "total")})


@pytest.fixture(scope="module")
def ours(finished: Path) -> Path:
    """Return the copy in which the workflow has run, with nothing left to plan."""
    assert not _planned(finished)
    return finished


def _said(planned: list[dict]) -> set[str]:
    return {f"{one['kind']}: {one['words']}" for job in planned for one in job["reasons"]}


@pytest.mark.long
def test_a_comment_runs_nothing(ours: Path, edit: Callable) -> None:
    edit("src/shiftbench/methods/learners/map.py", COMMENT)
    assert _planned(ours) == []
    assert not _dry(ours)


@pytest.mark.long
def test_a_function_a_method_and_seeds(ours: Path, edit: Callable) -> None:
    edit(
        "src/shiftbench/methods/learners/map.py",
        ("\ndef build(", "\ndef added():\n    return 1\n\n\ndef build("),
    )
    edit(
        "config/mine.yaml",
        ("search: [beam, gaussian-mean]", "search: [beam: {size: 3}, gaussian-mean]"),
        ("seeds: 4", "seeds: 6"),
    )
    planned = _planned(ours)
    assert Counter(job["rule"] for job in planned) == _dry(ours)
    assert _said(planned) >= {
        "code: shiftbench.methods.learners.map.added",
        "config: beam.size: 6 -> 3",
        "new: never run",
    }


@pytest.mark.long
def test_a_stream_a_package_and_a_store_that_is_gone(ours: Path, edit: Callable) -> None:
    gone = ours / "results/mine/runs/image-study/images/vcl/0-1.zarr.zip"
    content = gone.read_text()
    gone.unlink()
    edit("config/mine.yaml", ("points: 12", "points: 13"))
    edit("envs/requirements.lock", ("matplotlib==", "matplotlib==9"))
    planned = _planned(ours)
    dry = _dry(ours)
    gone.write_text(content)
    assert Counter(job["rule"] for job in planned) == dry
    said = _said(planned)
    assert "config: stream.settings.points: 12 -> 13" in said
    assert f"missing: {gone.relative_to(ours)} is gone" in said
    assert any(one.startswith("packages: matplotlib ") for one in said)


@pytest.mark.long
def test_a_store_that_another_has_changed(ours: Path) -> None:
    stream = ours / "results/mine/streams/images.zarr.zip"
    content = stream.read_text()
    stream.write_text(content + "changed")
    planned = _planned(ours)
    dry = _dry(ours)
    stream.write_text(content)
    assert Counter(job["rule"] for job in planned) == dry
    assert f"input: {stream.relative_to(ours)}" in _said(planned)
