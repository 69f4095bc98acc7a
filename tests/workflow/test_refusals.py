"""The workflow refuses a config with one message and before any job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forked
from tests.checkout import ROOT


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--configfile", "bad.yaml"], 'line 1, streems: unknown key "streems"; did you mean'),
        (["--config", "seeds=3"], "--config KEY=VALUE is not taken"),
    ],
)
def test_refusal(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "bad.yaml").write_text("streems: {}\n")
    options = ("--snakefile", ROOT / "Snakefile", "--cores", "1", "--dry-run")
    done = forked.python("snakemake", *options, *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert words in done.stdout
    assert "Traceback" not in done.stdout
    assert "Job " not in done.stdout


def test_a_target_that_is_not_planned_is_told_with_the_remedy(tmp_path: Path) -> None:
    target = "results/embedded/runs/toy-step/nile/vbs-k1/0-99.zarr.zip"
    options = ("--snakefile", ROOT / "Snakefile", "--cores", "1", "--dry-run")
    done = forked.python("snakemake", *options, target, cwd=tmp_path)
    assert done.returncode == 1
    assert (
        "embedded.yaml plans no job run_method for toy-step nile vbs-k1 0 99. Ask for a target of"
        " this config, or choose another config with --configfile."
    ) in done.stdout
