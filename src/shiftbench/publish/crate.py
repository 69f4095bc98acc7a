"""A crate: results with all that somebody else needs to check them, in one folder.

It has the layout of a folder of results, and beside it that of a checkout: what is published of
each study; the runs behind it, with what they did cost; the streams whose licence lets them be
passed on; the code, the config and the lock. Metadata say what everything is and how it was made
(crate_metadata.py), SHA256SUMS what every file was. Equal input gives equal bytes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from shiftbench.config import config_file as config
from shiftbench.config import specs
from shiftbench.config.composition import Composition
from shiftbench.core import atomic_files, checkout
from shiftbench.core.errors import UserError
from shiftbench.data.store import scratch
from shiftbench.publish import crate_metadata, croissant, files, licences, publish, stores

ROOT = checkout.HOME
"""The checkout whose workflow and code made the results."""
WORKFLOW = (
    "Snakefile", "Makefile", "pyproject.toml", "setup.py", "envs/requirements.lock", "LICENSE",
    "CITATION.cff",
)  # fmt: skip
FOLDERS = {"workflow": "*", "profiles": "*", "envs": "*.in", "src/shiftbench": "*"}
"""Folders of the checkout, and which of their files."""
LEFT_OUT = ("__pycache__",)
STREAMS = "streams"
README = """\
# Results of shiftbench: {name}

A research object, as Workflow Run RO-Crate describes it in `ro-crate-metadata.json`. `studies` has
what is published, `runs` what it was made from, `streams` the data (those whose licence lets them
be passed on; of others the metadata name the source), and the rest is the code, with `{file}` in
`config` as what was run.

Every file against its checksum: `sha256sum --check SHA256SUMS`. Also some of the runs, computed
again and compared with these: `shiftbench verify .`, with this version of the code installed. All
of it anew, in a copy of this folder: `make run CONFIG=config/{file}`.
"""


def make(results: Path, config_file: Path, target: Path) -> None:
    """Writes the crate of a folder of results, or of what is published, to `target`.

    UserError where the target is something else, where a file is not what the workflow made, or
    where the code and the config here are not those of the results; then nothing is written.
    """
    if target.exists() and not (target / crate_metadata.NAME).exists() and any(target.iterdir()):
        raise UserError(f"{target}: not empty, and no crate; name another folder")
    if checkout.INSTALLED:
        raise UserError(f"{checkout.PACKAGE} is installed; make the crate in a checkout")
    composed = config.composed(config_file)
    refuse_others(results, config.planned(composed), config_file)
    with scratch.beside(target) as folder:
        made = folder / "crate"
        publish.publish(results, made)
        _copy_runs(results, made)
        _copy_streams(results, made)
        _copy_code(made)
        _copy_config(composed, config_file, made)
        _copy_parts(composed, config_file, made)
        atomic_files.write(
            made / crate_metadata.README, README.format(name=results.name, file=config_file.name)
        )
        place = f"config/{config_file.name}"
        crate_metadata.write(made, config.planned(composed), composed.library, place)
        atomic_files.write(made / files.CHECKSUMS, files.checksums(contents(made)))
        shutil.rmtree(target, ignore_errors=True)
        os.replace(made, target)


def contents(crate: Path, with_checksums: bool = False) -> dict[str, Path]:
    """All files of a crate by name, with or without the list of their checksums."""
    found = sorted(path for path in crate.rglob("*") if path.is_file())
    named = {path.relative_to(crate).as_posix(): path for path in found}
    if not with_checksums:
        named.pop(files.CHECKSUMS, None)
    return named


def changed(crate: Path) -> list[str]:
    """Names of the files that are not what the crate says, are missing, or do not belong to it.

    By the list of checksums, which must agree with the metadata. UserError where one is missing.
    """
    listed = crate / files.CHECKSUMS
    if not listed.is_file():
        raise UserError(f"{crate}: there is no {files.CHECKSUMS}; this is no whole crate")
    now = set(files.checksums(contents(crate)).splitlines())
    then = set(listed.read_text(encoding="utf-8").splitlines())
    told = {f"{sha256}  {name}" for name, sha256 in crate_metadata.checksums(crate).items()}
    return sorted({line.partition("  ")[2] for line in (now ^ then) | (told - then)})


def refuse_changed(crate: Path) -> None:
    """UserError that names the files that are not what the crate says."""
    if broken := changed(crate):
        raise UserError(
            f"{crate}: changed since it was made: {', '.join(broken)}; make it anew with"
            " `shiftbench crate`, or get it again"
        )


def refuse_others(results: Path, plan: config.Config, config_file: Path) -> None:
    """UserError where studies or runs are not those that the config and the code here give."""
    if unknown := [name for name in files.studies(results) if name not in plan.studies]:
        raise UserError(
            f"{results}: {config_file} has no study {', '.join(unknown)}; name the config of these"
            " results with --config"
        )
    others = [str(path) for path in _runs(results) if not _is_of(plan, stores.spec(path))]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise UserError(
            f"{others[0]}{more}: made by another version of the code, the packages or of"
            f" {config_file} than is here, so that a crate would say what is not true; run the"
            " workflow again, or go to the commit that made them"
        )


def _is_of(plan: config.Config, spec: specs.Spec) -> bool:
    """Whether a run, or a warm-up, has the spec that is planned here."""
    study, stream, seeds = spec["study"], spec["stream"]["name"], tuple(spec["seeds"])
    if study not in plan.studies or stream not in plan.studies[study].streams:
        return False
    if spec["kind"] == "warm-up":
        known = specs.warm_ups_of(plan, study, stream)
        name = spec["name"]
        return name in known and specs.warm_up(plan, study, stream, name, seeds) == spec
    if spec["method"] not in plan.studies[study].methods:
        return False
    planned = specs.run(plan, study, stream, spec["method"], seeds)
    return spec == (specs.with_choice(planned, spec["tuned"]) if "tuned" in spec else planned)


def _runs(results: Path) -> list[Path]:
    """The stores of the runs of finished studies, and of the warm-ups that they share."""
    return [
        path
        for kind in (files.RUNS, files.WARM_UPS)
        for study in files.studies(results)
        for path in stores.below(results / kind / study)
    ]


def _copy_runs(results: Path, made: Path) -> None:
    for store in _runs(results):
        _copy(store, made / store.relative_to(results))
        cost = store.with_name(store.name.removesuffix(stores.SUFFIX) + files.COST)
        told = atomic_files.read_json(cost)
        told.pop("host", None)  # the name of somebody's machine is nobody else's matter
        text = json.dumps(told, indent=1, sort_keys=True)
        atomic_files.write(made / cost.relative_to(results), f"{text}\n")


def _copy_streams(results: Path, made: Path) -> None:
    """The streams that runs are on: what they are, and themselves where the licence allows."""
    names = {stores.spec(path)["stream"]["name"] for path in _runs(results)}
    for name in sorted(names):
        store = results / STREAMS / f"{name}{stores.SUFFIX}"
        is_open = licences.is_open(stores.attributes(store)["licence"])
        if is_open:
            _copy(store, made / STREAMS / store.name)
        croissant.write(store, made / STREAMS / f"{name}.croissant.json", is_open)


def _copy_code(made: Path) -> None:
    """The workflow and the package, as they are in the checkout."""
    for path in _code():
        _copy(path, made / path.relative_to(ROOT))


def _code() -> Iterator[Path]:
    yield from (ROOT / name for name in WORKFLOW)
    for folder, pattern in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob(pattern)):
            if path.is_file() and not set(path.parts) & set(LEFT_OUT):
                yield path


def _copy_config(composed: Composition, config_file: Path, made: Path) -> None:
    """The config and the files that it was composed of; those beside it before ours."""
    for path in [config_file, *(Path(one.path) for one in composed.library.documents)]:
        folders = (config_file.resolve().parent, *composed.library.folders)
        beside = next(folder for folder in folders if path.resolve().is_relative_to(folder))
        target = made / "config" / path.resolve().relative_to(beside)
        if not target.exists():
            _copy(path, target)


def _copy_parts(composed: Composition, config_file: Path, made: Path) -> None:
    """The user's own components, beside the config. UserError where they lie elsewhere."""
    beside = config_file.resolve().parent
    for folder in composed.component_folders:
        if not folder.is_relative_to(beside):
            raise UserError(
                f"{folder}: these components are not below the folder of {config_file}, where a"
                " crate has them; move them there"
            )
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not set(path.parts) & set(LEFT_OUT):
                _copy(path, made / "config" / path.relative_to(beside))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
