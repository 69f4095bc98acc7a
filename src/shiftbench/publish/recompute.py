"""Recompute a crate: runs from their specs and streams, scores from all runs.

Arrays of runs are `identical` to the last bit; `rounding`, apart by less than verify.ROUNDING of
the largest number of the array; or `different`. Numbers of summaries have the verdicts of verify.
"""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from shiftbench.config import digest, specs
from shiftbench.core import atomic_files, instructions
from shiftbench.core.errors import UserError
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import harness
from shiftbench.evaluation.scoring import summarise, tidy
from shiftbench.publish import crate, result_files, store_metadata, verify

SECONDS = 60.0
"""Of processor time: a run that took more is not small."""
MINUTES = 60.0
"""A limit of the harness that no small run reaches."""


SCORES = ("summary.csv", "scores.csv")


class Again(NamedTuple):
    """A run or a study that was computed again: its name, the verdict, and what it is about."""

    name: str
    verdict: str
    note: str


def small(folder: Path) -> list[Path]:
    """Return the runs of a crate that can be computed again here: small, and with their stream."""
    return [
        path for path in store_metadata.below(folder / result_files.RUNS) if is_small(folder, path)
    ]


def is_small(folder: Path, run: Path) -> bool:
    """Return whether a run of a crate is small and has its stream, so that it can run here."""
    spec = store_metadata.spec(run)
    cost = atomic_files.read_json(
        run.with_name(run.name.removesuffix(store_metadata.SUFFIX) + result_files.COST)
    )
    of_here = spec["instructions"] == instructions.in_force() or not instructions.available()
    return (
        cost["cpu_seconds"] <= SECONDS
        and of_here
        and "device" not in spec  # a GPU, which is hidden here
        and _stream(folder, spec["stream"]["name"]).exists()
    )


def sample(runs: list[Path], number: int, seed: int) -> list[Path]:
    """So many of some runs, or all, drawn with the seed."""
    return sorted(random.Random(seed).sample(runs, min(max(number, 0), len(runs))))


def again(folder: Path, run: Path) -> Again:
    """Compute one run again, and compares. UserError where a signal ends that."""
    spec = store_metadata.spec(run)
    stream = zarr_zip.read_any(_stream(folder, spec["stream"]["name"]))
    with TemporaryDirectory() as scratch:
        try:
            made, _ = harness.run_job(spec, stream, Path(scratch), MINUTES)
        except harness.Stopped as reason:
            raise UserError(f"{run}: not computed again ({reason})") from None
        # As it is read, it has the types of what it is compared with.
        zarr_zip.write(made, Path(scratch, run.name))
        ours = zarr_zip.read(Path(scratch, run.name))
    verdicts = compare(ours, zarr_zip.read(run))
    worst = max(verdicts.values(), key=verify.VERDICTS.index)
    notes = [", ".join(name for name in verdicts if verdicts[name] == worst)]
    if worst == "identical":
        notes = [f"all {len(verdicts)} arrays"]
    notes += _other_code(spec, *specs.modules_of_run(spec))
    name = (
        run.relative_to(folder / result_files.RUNS).as_posix().removesuffix(store_metadata.SUFFIX)
    )
    return Again(name, worst, "; ".join(notes))


def with_scores(folder: Path) -> list[str]:
    """Return the studies of a crate whose scores can be computed again: all it takes is there."""
    return [
        study for study in result_files.studies(folder) if _has_all(folder, _scores(folder, study))
    ]


def scores_again(folder: Path, study: str) -> Again:
    """Compute the scores and the summary of a study again, of all its runs, and compares."""
    spec = _scores(folder, study)
    streams = {name: zarr_zip.read_any(_stream(folder, name)) for name in spec["streams"]}
    runs = [
        zarr_zip.read(path) for path in store_metadata.below(folder / result_files.RUNS / study)
    ]
    with TemporaryDirectory() as scratch, threadpool_limits(1):
        cube, summary = summarise.summarise(spec, streams, runs)
        ours = result_files.study_folder(Path(scratch), study)
        for name, table in zip(SCORES, (summary, tidy.tidy(spec, cube)), strict=True):
            atomic_files.write(ours / name, table.to_csv(index=False, lineterminator="\n"))
        found = verify.of_numbers(Path(scratch), folder, study)
        worst = verify.worst(found)
        theirs = result_files.study_folder(folder, study)
        same = {name: _rows(ours / name) == _rows(theirs / name) for name in SCORES}
    if worst == "identical" and not all(same.values()):
        return Again(study, "different", ", ".join(name for name in SCORES if not same[name]))
    wrong = [each.place for each in found if each.verdict == worst]
    notes = [f"all {len(found)} rows" if worst == "identical" else ", ".join(wrong)]
    return Again(study, worst, "; ".join(notes + _other_code(spec, *specs.modules_of_scores(spec))))


def compare(ours: xr.Dataset, theirs: xr.Dataset) -> dict[str, str]:
    """Return the verdict on each array, by its name; an array that one side lacks is different."""
    names = sorted({str(name) for side in (ours, theirs) for name in side.variables})
    return {
        name: _compared(ours[name].values, theirs[name].values)
        if name in ours.variables and name in theirs.variables
        else "different"
        for name in names
    }


def _compared(ours: np.ndarray, theirs: np.ndarray) -> str:
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return "different"
    if ours.dtype.kind != "f":
        return "identical" if np.array_equal(ours, theirs) else "different"
    if np.array_equal(ours, theirs, equal_nan=True):
        return "identical"
    largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
    close = np.allclose(ours, theirs, rtol=0, atol=verify.ROUNDING * largest, equal_nan=True)
    return "rounding" if close else "different"


def _stream(folder: Path, name: str) -> Path:
    return folder / crate.STREAMS / f"{name}{store_metadata.SUFFIX}"


def _scores(folder: Path, study: str) -> specs.Spec:
    """Return the spec of a study's scores; empty if it was published before specs were recorded."""
    origin = atomic_files.read_json(
        result_files.study_folder(folder, study) / result_files.PROVENANCE
    )
    return origin.get("spec", {})


def _rows(table: Path) -> list[str]:
    """Sort the rows of a table: a spec does not keep the order of the config."""
    return sorted(table.read_text(encoding="utf-8").splitlines())


def _has_all(folder: Path, spec: specs.Spec) -> bool:
    """Return whether all runs and streams of a study are in the crate."""
    streams = [_stream(folder, name) for name in spec.get("streams", [])]
    runs = folder / result_files.RUNS / spec.get("study", "")
    return bool(spec) and runs.is_dir() and all(path.exists() for path in streams)


def _other_code(spec: specs.Spec, *modules: str) -> list[str]:
    """Say that the code here differs from the code of a spec."""
    same = digest.code(*modules) == spec["code"]
    return [] if same else ["the code here is not the code that made it"]
