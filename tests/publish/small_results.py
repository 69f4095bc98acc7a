"""A folder of results as the workflow makes it, of one small study, in a second."""

from __future__ import annotations

from pathlib import Path

from tests import job_calls

CONFIG = """\
seeds_per_job: 2
streams:
  steps: {family: toy-step, points: 12, realisations: 4}
studies:
  toy:
    title: Steps
    streams: [steps]
    seeds: 4
    metrics: [jump_f1, log_predictive]
    artefacts: [score-table]
    methods: {search: {from: vbs-toy}, plain: [gaussian-mean]}
"""


def make(folder: Path) -> Path:
    """results/small below the folder, and config/small.yaml."""
    (folder / "config").mkdir(parents=True)
    (folder / "config/small.yaml").write_text(CONFIG)
    results = folder / "results/small"
    job_calls.make(folder / "config/small.yaml", results)
    return results
