"""Recompute scores, summary, choices and tables of a study in a crate, from all its runs.

Figures are not drawn again: they show what the tables and the scores say.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import xarray as xr
from threadpoolctl import threadpool_limits

from shiftbench.config import jobs, result_paths, specs
from shiftbench.config.tuning import TRIALS
from shiftbench.core import atomic_files
from shiftbench.data.store import zarr_zip
from shiftbench.evaluation import artefact_files
from shiftbench.evaluation.scoring import results, summarise, tidy, tuning_choice
from shiftbench.publish import crate_files, result_files, store_checks, verify
from shiftbench.publish.crate_plan import PlannedCrate
from shiftbench.publish.recompute import Again, other_code, refusing

SCORES = (result_paths.SUMMARY, result_paths.SCORE_TABLE)


def with_scores(crate: PlannedCrate) -> list[str]:
    """Return the studies of a crate whose scores can be computed again from complete files."""
    return [
        name
        for name, study in crate.plan.studies.items()
        if crate.of_study(name) and {*study.streams} <= crate.streams.keys()
    ]


def scores_again(crate: PlannedCrate, study: str) -> Again:
    """Compute scores, summary, choices and tables of a study again from its runs, and compare."""
    spec = specs.scores(crate.plan, study)
    streams = {
        name: store_checks.read(crate.streams[name], crate.limits) for name in spec["streams"]
    }
    runs = [store_checks.read_run(run.store, crate.limits) for run in crate.of_study(study)]
    theirs = result_files.study_folder(crate.folder, study)
    with TemporaryDirectory() as scratch, refusing(f"the scores of {study}"):
        ours = result_files.study_folder(Path(scratch), study)
        with threadpool_limits(1):
            cube, summary = summarise.summarise(spec, streams, runs)
        for name, table in zip(SCORES, (summary, tidy.tidy(spec, cube)), strict=True):
            atomic_files.write(ours / name, table.to_csv(index=False, lineterminator="\n"))
        found = verify.of_numbers(Path(scratch), crate.folder, study)
        of_scores = verify.of_scores(
            ours / result_paths.SCORE_TABLE, theirs / result_paths.SCORE_TABLE
        )
        edited = [
            name for name in SCORES if _rows(ours / name, crate) != _rows(theirs / name, crate)
        ]
        edited += _other_choices(crate, study, cube)
        edited += _other_tables(crate, study, cube, ours)
    worst = max(verify.worst(found), of_scores, key=verify.VERDICTS.index)
    if worst == "identical" and edited:
        return Again(study, "different", ", ".join(edited))
    places = [each.place for each in found if each.verdict == worst]
    places += [result_paths.SCORE_TABLE] if of_scores == worst else []
    notes = [f"all {len(found)} rows" if worst == "identical" else ", ".join(places)]
    return Again(study, worst, "; ".join(notes + other_code(spec, *specs.modules_of_scores(spec))))


def _other_choices(crate: PlannedCrate, trials: str, cube: xr.DataTree) -> list[str]:
    """Return the choice files that differ from those computed from the trials' scores."""
    study, wrong = trials.removesuffix(TRIALS), []
    if study == trials or study not in crate.plan.studies:
        return []
    plan = crate.plan.studies[study]
    for stream in plan.streams:
        for method in plan.methods:
            name = f"choices/{stream}/{method}.json"
            ours = tuning_choice.best(specs.choice(crate.plan, study, stream, method), cube)
            path = result_files.study_folder(crate.folder, trials) / name
            theirs = crate_files.read_json(path, crate.limits)
            if json.dumps(ours, sort_keys=True) != json.dumps(theirs, sort_keys=True):
                wrong.append(name)
    return wrong


def _other_tables(crate: PlannedCrate, study: str, cube: xr.DataTree, ours: Path) -> list[str]:
    """Return the table files that differ from those computed from the scores.

    ours: the folder with the summary, where the tables are written.
    """
    plan, wrong = crate.plan.studies[study], []
    zarr_zip.stamp(cube, f"scores of {study}", specs.scores(crate.plan, study))
    zarr_zip.write(cube, ours / result_paths.SCORES)
    streams = [crate.streams[name] for name in plan.streams]
    for artefact in plan.artefacts:
        if jobs.is_figure(artefact):
            continue
        spec = specs.artefact(crate.plan, study, artefact)
        made = results.load(spec, ours / result_paths.SCORES, ours / result_paths.SUMMARY, streams)
        artefact_files.save(artefact, made, ours / "tables" / artefact)
        for name in (f"tables/{artefact}.csv", f"tables/{artefact}.md"):
            theirs = result_files.study_folder(crate.folder, study) / name
            if _rows(ours / name, crate) != _rows(theirs, crate):
                wrong.append(name)
    return wrong


def _rows(table: Path, crate: PlannedCrate) -> list[str]:
    """Sort the rows of a table: a spec does not keep the order of the config."""
    return sorted(crate_files.read_text(table, crate.limits).splitlines())
