"""Makes scores of runs and artefacts in this process, to see what they do beside their result.

The workflow makes them in processes of their own, where nothing watches them. Each function raises
AssertionError for what it finds.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path

import numpy as np
import xarray as xr

from shiftbench.config import components, provenance
from shiftbench.config.job import Job
from shiftbench.contract.blocks import equal
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation import artefact_files
from shiftbench.evaluation.scoring import results

CHANGED = "what was given has changed"
DIFFERS = "made a second time, it differs"
Places = Mapping[str, Path]
"""Where each output of a job lies."""
Scores = dict[tuple[str, str], np.ndarray]
"""Scores [seed] by stream and method."""


def scored(job: Job, metric: str, places: Places) -> Scores:
    """Return a metric of the runs that a job of scores joins, each computed twice."""
    row, found = components.load_metric(metric), {}
    names = job.spec["streams"]
    paths = [places[file] for file in job.inputs]
    stores = dict(zip(names, map(zarr_zip.read_any, paths[: len(names)]), strict=True))
    runs = {_about(run): run for run in map(zarr_zip.read, paths[len(names) :])}
    for (stream, method), run in runs.items():
        others = [runs[stream, job.spec["reference"]]] if "reference" in row.study else []
        given = [run, stores[stream], *others]
        copies = deepcopy(given)
        with _writing_nothing():
            score = row.score(*given)
        assert all(one.identical(copy) for one, copy in zip(given, copies, strict=True)), CHANGED
        assert equal(row.score(*copies), score), DIFFERS
        found[stream, method] = score
    return found


def check_scores(found: Scores, metric: str, cube: Path) -> None:
    """Compare scores with those that another process has written to the cube of a study."""
    made = zarr_zip.read_tree(cube)["scores"]["score"].sel(metric=metric)
    for (stream, method), score in found.items():
        other = made.sel(stream=stream, learner=method).values
        assert np.array_equal(np.asarray(score, float), other, equal_nan=True), DIFFERS


def drawn(job: Job, places: Places) -> dict[str, bytes]:
    """Return the files of the artefact that a job makes, by their endings."""
    *streams, scores, summary = [places[file] for file in job.inputs]
    given, fresh = (results.load(job.spec, scores, summary, streams) for _ in range(2))
    with _writing_nothing(), tempfile.TemporaryDirectory() as folder:
        artefact_files.save(job.spec["artefact"], given, Path(folder, "made"))
        files = {file.suffix: file.read_bytes() for file in Path(folder).iterdir()}
    pairs = zip(_data_sets(given), _data_sets(fresh), strict=True)
    assert all(one.identical(other) for one, other in pairs), CHANGED
    assert given.summary.equals(fresh.summary), CHANGED
    return files


def check_files(found: Mapping[str, bytes], job: Job, places: Places) -> None:
    """Compare the files of an artefact with those that the job has made in another process."""
    made = {places[file].suffix: places[file].read_bytes() for file in job.outputs}
    assert found == made, DIFFERS


def _about(run: xr.Dataset) -> tuple[str, str]:
    spec = provenance.spec(run)
    return spec["stream"]["name"], spec["method"]


def _data_sets(study: results.StudyResults) -> Iterator[xr.Dataset | xr.DataTree]:
    """Yield the scores, the runs and the streams that a figure or table may read."""
    yield study.cube
    yield from study.streams.values()
    for stream in study.streams:
        yield from (study.scores[f"runs/{stream}/{method}"] for method in study.methods)


@contextlib.contextmanager
def _writing_nothing() -> Iterator[None]:
    """Refuse files that are in the working folder after the block, and were not there before."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield
        written = sorted(path.name for path in Path(folder).iterdir())
        assert not written, f"it writes {', '.join(written)}, and only its result is asked for"
