"""Compares the files and runs of a crate with what the config in the crate plans.

The config decides which studies and runs there must be. So a run that somebody removed is noticed,
and so is one that was made with another spec. The user's own data are not in a crate and are not
checked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from shiftbench.config import (
    components,
    config_file,
    result_paths,
    specs,
    tuning,
    user_files,
    yaml_lines,
)
from shiftbench.config.schema import Config, Stream
from shiftbench.config.spec_files import Spec
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.forecast import records
from shiftbench.publish import (
    crate_config,
    crate_files,
    crate_metadata,
    crate_records,
    croissant,
    result_files,
    store_checks,
    store_metadata,
)
from shiftbench.publish.crate_files import FOLDERS, RAISE, WORKFLOW, Limits
from shiftbench.publish.results_folder import ResultsFolder

LOCAL = ("code", "instructions", "device")
"""Keys of a spec about the machine and the versions with which a run was made."""
CODE = ("config/", *(f"{folder}/" for folder in FOLDERS))
"""Folders of a crate in which any file may be."""
OPTIONAL = (records.TABLE, result_paths.SOURCE_DATA)
"""Published files of a study that a crate need not have."""


class CratedRun(NamedTuple):
    """A run of a crate whose spec agrees with the config's plan."""

    study: str
    stream: str
    method: str
    name: str
    store: Path
    spec: Spec


class PlannedCrate(NamedTuple):
    """A crate whose files and specs agree with the plan of its own config.

    streams: the stores of those that are in the crate.
    """

    folder: Path
    plan: Config
    runs: list[CratedRun]
    streams: dict[str, Path]
    limits: Limits

    def of_study(self, study: str) -> list[CratedRun]:
        """Return the runs of a study."""
        return [run for run in self.runs if run.study == study]


def own_components(crate: Path, limits: Limits = crate_files.DEFAULT) -> list[str]:
    """Return the folders of code that configs of a crate name. UserError for one outside of it."""
    return [
        folder
        for document in _configs(crate / crate_metadata.config_file(crate, limits))
        for folder in crate_config.component_folders(document)
    ]


def read(crate: Path, trust: bool = False, limits: Limits = crate_files.DEFAULT) -> PlannedCrate:
    """Return a crate after all checks that need no computing.

    trust: its own components, which are code, may run here. From then on, this process writes no
    bytecode.

    Raises
    ------
    UserError
        Where it is not what its config plans, is larger than the limits, or brings code that is not
        trusted.
    """
    files = crate_files.contents(crate, with_checksums=True, limits=limits)
    if (own := own_components(crate, limits)) and not trust:
        raise UserError(
            f"{crate}: brings code of its own, {', '.join(own)}, which runs here only with --trust;"
            " read it first"
        )
    if own:
        # Bytecode beside the code would be files that the crate does not list.
        sys.dont_write_bytecode = True
    plan = _plan(crate / crate_metadata.config_file(crate, limits), limits)
    _refuse_undescribed(crate, files, limits)
    has_runs = any(name.startswith(f"{result_files.RUNS}/") for name in files)
    _refuse_other_files(crate, plan, files, has_runs)
    planned = PlannedCrate(crate, plan, [], _streams(plan, files, limits), limits)
    for study in plan.studies:
        origin = result_files.study_folder(crate, study) / result_files.PROVENANCE
        scores = specs.scores(plan, study) if has_runs else None
        crate_records.refuse_wrong_provenance(origin, scores, limits)
        size = 0
        for run in _runs(planned, study, files):
            size += store_checks.decoded_size(run.store, limits)
            if size > limits.decoded:
                raise UserError(
                    f"{crate}: the runs of {study} take more than {limits.decoded:,} bytes; {RAISE}"
                )
            crate_records.refuse_wrong_cost(Path(result_paths.cost(str(run.store))), limits)
            planned.runs.append(run)
    return planned


def _configs(path: Path) -> Iterator[yaml_lines.Document]:
    """Yield the config of a crate, and those that it starts from, each once it is known to be safe.

    UserError for one that names files outside of the crate.
    """
    for document in crate_config.chain(path, alone=True):
        for key, name in crate_config.leading_out(document):
            raise UserError(
                f"{document.path}: {key}: {printable(name)} is outside of the crate; get it again"
            )
        yield document


def _plan(path: Path, limits: Limits) -> Config:
    """Return the plan of a crate's config, without paths of data. UserError if it is invalid."""
    try:
        plan = config_file.planned(config_file.composed(path, in_crate=True))
    except (OSError, RuntimeError, ValueError) as error:
        reason = printable(str(error))
        raise UserError(f"{path}: cannot be planned ({reason}); get the crate again") from None
    number = sum(
        len(study.streams) * len(study.pipelines) * len(plan.blocks(name))
        for name, study in plan.studies.items()
    )
    if number > limits.files:
        raise UserError(f"{path}: plans {number:,} runs, more than {limits.files:,}; {RAISE}")
    return plan.model_copy(
        update={"streams": {name: _without_files(one) for name, one in plan.streams.items()}}
    )


def _without_files(stream: Stream) -> Stream:
    kept = {key: value for key, value in stream.settings.items() if key not in user_files.KEYS}
    return Stream(**{"family": stream.family} | kept)


def _refuse_undescribed(crate: Path, files: dict[str, Path], limits: Limits) -> None:
    """Raise UserError for files, other than code, of which the metadata have no checksum."""
    described = crate_metadata.checksums(crate, limits)
    left = files.keys() - described.keys() - {crate_metadata.NAME, result_files.CHECKSUMS}
    if names := sorted(name for name in left if not name.startswith(crate_metadata.CODE)):
        raise UserError(
            f"{crate}: its metadata lack {crate_files.some(names)}; get the crate again"
        )


def _refuse_other_files(crate: Path, plan: Config, files: dict[str, Path], has_runs: bool) -> None:
    """Raise UserError for files that the config does not plan, and for missing planned files.

    has_runs: published results have none.
    """
    needed, optional = _layout(crate, plan, has_runs)
    if lacking := sorted(needed - files.keys()):
        raise UserError(
            f"{crate}: its config plans {crate_files.some(lacking)}, which the crate lacks; get the"
            " crate again"
        )
    foreign = [name for name in files if not (name in needed | optional or name.startswith(CODE))]
    if foreign:
        raise UserError(
            f"{crate}: has {crate_files.some(foreign)}, which its config does not plan; get the"
            " crate again"
        )


def _layout(crate: Path, plan: Config, has_runs: bool) -> tuple[set[str], set[str]]:
    """Return the names of the files that a crate needs, and of others that it may have."""
    needed = {crate_metadata.NAME, crate_metadata.README, result_files.CHECKSUMS}
    optional = {*WORKFLOW}
    results = ResultsFolder(crate, plan)
    for part, names in results.planned.items():
        folder = result_files.study_folder(Path(), part)
        of_copy = (result_files.CHECKSUMS, result_files.PROVENANCE)
        group = optional if part == result_files.OVERVIEW else needed
        group |= {(folder / name).as_posix() for name in (*names, *of_copy)}
        optional |= {(folder / name).as_posix() for name in OPTIONAL}
    for job in results.jobs if has_runs else ():
        if job.rule in ("run_method", "warm_up"):
            group = needed if job.rule == "run_method" else optional
            group |= {PurePosixPath(output).as_posix() for output in job.outputs}
    for name in plan.streams:
        optional |= {_stream(name), croissant.place(name).as_posix()}
    return needed, optional


def _stream(name: str) -> str:
    """Return the name of the store of a stream in a crate."""
    return result_paths.stream("", name).as_posix()


def _streams(plan: Config, files: dict[str, Path], limits: Limits) -> dict[str, Path]:
    """Return the stores of streams. UserError for one that differs from the config's plan."""
    found = {}
    for name, stream in plan.streams.items():
        path = files.get(_stream(name))
        if path is not None:
            store_checks.decoded_size(path, limits)
            _refuse_other(path, specs.stream(plan, name), _is_of_user(stream))
            found[name] = path
    return found


def _runs(crate: PlannedCrate, study: str, files: dict[str, Path]) -> Iterator[CratedRun]:
    """Yield the runs of a study. UserError for one that differs from the config's plan."""
    plan = crate.plan.studies[study]
    for stream in plan.streams:
        of_user = _is_of_user(crate.plan.streams[stream])
        for method in plan.pipelines:
            for block in crate.plan.blocks(study):
                store = result_paths.seeds("", result_files.RUNS, study, stream, method, block)
                path = files.get(store.as_posix())
                if path is None:
                    continue
                store_checks.decoded_size(path, crate.limits)
                planned = specs.run(crate.plan, study, stream, method, block)
                if plan.tuning is not None:
                    planned = specs.with_choice(planned, _chosen(crate, study, stream, method))
                spec = _refuse_other(path, planned, of_user)
                local = {key: str(spec[key]) for key in LOCAL if key in spec}
                name = store.relative_to(result_files.RUNS).as_posix()
                name = name.removesuffix(result_paths.STORE)
                yield CratedRun(study, stream, method, name, path, planned | local)


def _is_of_user(stream: Stream) -> bool:
    """Return whether the data of a stream are the user's own, which nobody else has."""
    return not {*user_files.KEYS}.isdisjoint(components.fields("streams", stream.family))


def _chosen(crate: PlannedCrate, study: str, stream: str, method: str) -> dict[str, Any]:
    """Return the settings of a tuned run. UserError unless they are those of a trial."""
    folder = result_files.study_folder(crate.folder, study + TRIALS)
    path = folder / result_paths.choice(stream, method)
    choice = crate_files.read_json(path, crate.limits)
    settings = choice.get("settings") if isinstance(choice, dict) else None
    for _, point in tuning.trial_names(study, crate.plan.studies[study], method):
        if json.dumps(point, sort_keys=True) == json.dumps(settings, sort_keys=True):
            return point
    raise UserError(f"{path}: its settings are those of no trial; get the crate again")


def _refuse_other(path: Path, planned: Spec, of_user: bool) -> Spec:
    """Return the spec of a store. UserError unless it is equivalent to the planned one."""
    try:
        spec = store_metadata.spec(path)
        ours, theirs = (_without_data(one) if of_user else one for one in (planned, spec))
        if crate_records.meaning(ours) == crate_records.meaning(theirs):
            return spec
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        pass  # no spec at all
    raise UserError(
        f"{path}: was not made as the config of the crate says, or by another version of"
        " shiftbench; get the crate again, or install that version"
    )


def _without_data(spec: Spec) -> Spec:
    """Return the spec of a stream, or of a run, without the names and checksums of its files."""
    if isinstance(spec["stream"], dict):
        return spec | {"stream": _without_data(spec["stream"] | {"stream": ""})}
    settings = {key: v for key, v in spec["settings"].items() if key not in user_files.KEYS}
    return spec | {"settings": settings, "data": {}}
