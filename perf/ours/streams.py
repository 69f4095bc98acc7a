"""Runs of the harness on a stream of single rows, from prediction to records."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from perf import problems
from perf.work import Work
from shiftbench.config import components, config_file, specs
from shiftbench.evaluation.running import harness

CONFIG = """\
streams:
  rows:
    {family: table-file, path: rows.csv, target: y, scaling: none, target_scaling: none}
studies:
  rows:
    title: Rows
    streams: [rows]
    seeds: 1
    metrics: [absolute_error]
    artefacts: [score-table]
    methods:
      linear: [&linear {linear-gaussian: {noise_sd: 0.1}}]
      beam: [beam: {size: 6, broadening: temper-prior, beta: 0.8333333333333334}, *linear]
      run-length: [run-length: {keep: 6}, *linear]
"""
MINUTES = 60


def regression(method: str, rows: int) -> Work:
    """Return Bayesian linear regression, alone or inside a combinator.

    `linear` shows the absolute error of each row before it is learnt.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs, targets = problems.regression(rows)
        names = [f"x{number}" for number in range(inputs.shape[1])]
        table = np.column_stack([inputs, targets])
        header = ",".join([*names, "y"])
        np.savetxt(Path(folder, "rows.csv"), table, "%.17g", ",", header=header, comments="")
        Path(folder, "rows.yaml").write_text(CONFIG)
        config = config_file.load(Path(folder, "rows.yaml"))
        family = components.load("streams", "table-file")
        settings = family.Settings(**config.streams["rows"].settings)
        stream = family.build(settings, Path(folder, "rows.csv"))
        spec = specs.run(config, "rows", "rows", method, (0, 0))
    run = partial(_run, spec, stream)
    shows = (lambda: {"absolute errors": run()}) if method == "linear" else None
    return Work(run, rows, shows=shows)


def _run(spec: dict, stream) -> np.ndarray:
    """Return the absolute error of each task."""
    with tempfile.TemporaryDirectory() as scratch:
        store, _ = harness.run_job(spec, stream, Path(scratch), MINUTES)
    return store["score"].values[0, 0]
