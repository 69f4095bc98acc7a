"""Costs are read beside the stores of runs, and published with the study."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from shiftbench.forecast import records
from shiftbench.publish import study_copy
from shiftbench.publish.results_folder import ResultsFolder
from tests.forecast.test_estimate import _spec

COST = {
    "cpu_seconds": 12.5,
    "wall_seconds": 14.0,
    "peak_memory_bytes": 5 * 10**8,
    "processor": "Some",
    "instructions": "portable",
    "versions": {},
}


def _results(folder: Path) -> Path:
    """Return results with a finished run and one that has only its cost."""
    runs = folder / "results/mine/runs/images/digits/vcl"
    runs.mkdir(parents=True)
    for seed in (0, 1):
        (runs / f"{seed}-{seed}.cost.json").write_text(json.dumps(COST))
    with zipfile.ZipFile(runs / "0-0.zarr.zip", "w") as store:
        store.writestr("zarr.json", json.dumps({"attributes": {"spec": json.dumps(_spec())}}))
    summary = folder / "results/mine/studies/images/summary.csv"
    summary.parent.mkdir(parents=True)
    summary.write_text("study\n")
    return folder / "results/mine"


def test_what_a_finished_run_did_cost(tmp_path) -> None:
    (found,) = records.collect([_results(tmp_path)])
    assert (found.study, found.stream, found.method) == ("images", "digits", "vcl")
    assert (found.pipeline, found.cpu, found.machine) == ("mfvi/mlp", 12.5, "Some, portable")


def test_a_published_study_has_the_costs_of_its_runs(tmp_path) -> None:
    results, target = _results(tmp_path), tmp_path / "published/mine"
    study_copy.publish(ResultsFolder(results), target)
    assert records.collect([target]) == records.collect([results])
    (target / "studies/images" / records.TABLE).unlink()
    assert study_copy.publish(ResultsFolder(results), target) == {"images": "unchanged"}
    assert records.collect([target]), "though the study was published before"
