"""Runs of a crate computed again, from the specs and the streams in it.

What comes out is compared with what the crate has, array by array: `identical` to the last bit;
`rounding`, apart by less than verify.ROUNDING of the largest number of the array; or `different`.
"""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import xarray as xr

from shiftbench import _instructions
from shiftbench.planning import digest, specs
from shiftbench.publishing import crate, files, stores, verify
from shiftbench.running import harness
from shiftbench.store import text_files, zarr_zip

SECONDS = 60.0
"""Of processor time: a run that took more is not small."""
MINUTES = 60.0
"""A limit of the harness that no small run reaches."""


class Again(NamedTuple):
    """A run that was computed again: its name, the verdict, and what it is about."""

    run: str
    verdict: str
    note: str


def small(folder: Path) -> list[Path]:
    """The runs of a crate that can be computed again here: small, and with their stream."""
    return [path for path in stores.below(folder / files.RUNS) if _is_small(folder, path)]


def sample(folder: Path, number: int, seed: int) -> list[Path]:
    """So many of them, or all, drawn with the seed."""
    known = small(folder)
    return sorted(random.Random(seed).sample(known, min(max(number, 0), len(known))))


def again(folder: Path, run: Path) -> Again:
    """Computes one run again, and compares."""
    spec = stores.spec(run)
    stream = zarr_zip.read_any(_stream(folder, spec))
    with TemporaryDirectory() as scratch:
        made, _ = harness.run_job(spec, stream, Path(scratch), MINUTES)
        # As it is read, it has the types of what it is compared with.
        zarr_zip.write(made, Path(scratch, run.name))
        ours = zarr_zip.read(Path(scratch, run.name))
    verdicts = compare(ours, zarr_zip.read(run))
    worst = max(verdicts.values(), key=verify.VERDICTS.index)
    notes = [", ".join(name for name in verdicts if verdicts[name] == worst)]
    if worst == "identical":
        notes = [f"all {len(verdicts)} arrays"]
    if digest.code(*specs.modules_of_run(spec)) != spec["code"]:
        notes.append("the code here is not the code of the run")
    name = run.relative_to(folder / files.RUNS).as_posix().removesuffix(stores.SUFFIX)
    return Again(name, worst, "; ".join(notes))


def compare(ours: xr.Dataset, theirs: xr.Dataset) -> dict[str, str]:
    """The verdict on each array, by its name; an array that one side lacks is different."""
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


def _is_small(folder: Path, run: Path) -> bool:
    spec = stores.spec(run)
    cost = text_files.read_json(run.with_name(run.name.removesuffix(stores.SUFFIX) + files.COST))
    of_here = spec["instructions"] == _instructions.in_force() or not _instructions.available()
    return cost["cpu_seconds"] <= SECONDS and of_here and _stream(folder, spec).exists()


def _stream(folder: Path, spec: specs.Spec) -> Path:
    return folder / crate.STREAMS / f"{spec['stream']['name']}{stores.SUFFIX}"
