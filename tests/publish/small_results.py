"""Write a folder of results of one small study within a second, as the workflow would."""

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
    """Write results/small and config/small.yaml to the folder, and return the results."""
    (folder / "config").mkdir(parents=True)
    (folder / "config/small.yaml").write_text(CONFIG)
    results = folder / "results/small"
    job_calls.make(folder / "config/small.yaml", results)
    return results
