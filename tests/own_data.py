"""Run studies of a user's own data in this process, without the workflow."""

from __future__ import annotations

import json
from pathlib import Path

from shiftbench.config import components, config_file, specs
from shiftbench.config.schema import Config
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation.running import build_run, run_store
from shiftbench.evaluation.running.cost import Meter
from shiftbench.evaluation.running.harness import advance, start
from shiftbench.evaluation.scoring import results, summarise
from shiftbench.evaluation.scoring.results import StudyResults


def study(path: Path, folder: Path) -> StudyResults:
    """Return the results of the only study of a config, written to a folder."""
    plan = config_file.load(path)
    (name,) = plan.studies
    streams = {stream: _stream(plan, stream) for stream in plan.studies[name].streams}
    runs = [
        _run(specs.run(plan, name, stream, method, (0, 0)), store)
        for stream, store in streams.items()
        for method in plan.studies[name].pipelines
    ]
    tree, table = summarise.summarise(specs.scores(plan, name), streams, runs)
    spec = specs.artefact(plan, name, plan.studies[name].artefacts[0])
    places = [folder / f"{stream}.zarr.zip" for stream in streams]
    for place, store in zip(places, streams.values(), strict=True):
        zarr_zip.write(store, place)
    zarr_zip.write(tree, folder / "scores.zarr.zip")
    table.to_csv(folder / "summary.csv", index=False)
    return results.load(spec, folder / "scores.zarr.zip", folder / "summary.csv", places)


def _stream(plan: Config, name: str):
    stream = plan.streams[name]
    module = components.load("streams", stream.family)
    settings = components.configured("streams", stream.family, stream.settings)
    store = module.build(settings, Path(stream.settings["path"]))
    return store.assign_attrs(spec=json.dumps(specs.stream(plan, name)))


def _run(spec, stream):
    run = build_run.run(spec, stream)
    position, meter = start(run), Meter()
    while position.next_task < run.problem.n_tasks:
        position = advance(run, position, meter)
    return run_store.dataset(run, position)
