"""Make and check crates: results with everything that others need to check them, in one folder.

A crate has the layout of a folder of results and of a checkout: the published files of each study;
the runs behind it, with their costs; the streams whose licence allows redistribution; the code, the
config and the lock file. Metadata (crate_metadata.py) describe all files and their origin, and
SHA256SUMS lists their checksums. Equal input gives equal bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

from shiftbench.config import config_file as config
from shiftbench.config import result_paths, user_components
from shiftbench.core import atomic_files, checkout
from shiftbench.core.errors import UserError
from shiftbench.data.store import scratch
from shiftbench.publish import (
    crate_config,
    crate_files,
    crate_metadata,
    crate_plan,
    croissant,
    licences,
    result_files,
    store_metadata,
    study_copy,
)
from shiftbench.publish.crate_files import Limits
from shiftbench.publish.results_folder import ResultsFolder

ROOT = checkout.HOME
"""The checkout whose workflow and code computed the results."""
README = """\
# Results of shiftbench: {name}

A research object with Workflow Run RO-Crate metadata in `ro-crate-metadata.json`. `studies` has
the published files, `runs` the runs behind them, `streams` the data (if the licence allows
redistribution; for others the metadata name the source). The rest is the code; `config/{file}` was
run.

Check every file: `sha256sum --check SHA256SUMS`. Compute some of the runs again, and compare them:
`shiftbench verify .`, with this version of the code installed. Compute everything again, in a copy
of this folder: `make run CONFIG=config/{file}`.
"""


def make(results: Path, config_file: Path, target: Path) -> None:
    """Write the crate of a folder of results, or of published results, to `target`.

    Raises UserError, and writes nothing, if the target is not a crate, if the results are
    incomplete or changed since the workflow wrote them, if code or config are others here, or if
    `verify` would refuse the crate.
    """
    _refuse_other_folder(target)
    if checkout.INSTALLED:
        raise UserError(f"{checkout.PACKAGE} is installed; make the crate in a checkout")
    composed = config.composed(config_file)
    plan = config.planned(composed)
    planned = ResultsFolder(results, plan)
    refuse_other_code(planned, plan, config_file)
    planned.refuse_incomplete()
    with scratch.beside(target) as folder:
        new = folder / "crate"
        study_copy.publish(planned, new)
        runs = planned.runs()
        _copy_runs(runs, results, new)
        _copy_streams(runs, results, new)
        _copy_code(new)
        crate_config.copy(composed, config_file, new)
        atomic_files.write(
            new / crate_metadata.README, README.format(name=results.name, file=config_file.name)
        )
        name = f"config/{config_file.name}"
        is_ours = crate_config.is_ours(config_file)
        crate_metadata.write(new, plan, composed.library, name, is_ours)
        atomic_files.write(
            new / result_files.CHECKSUMS, result_files.checksums(crate_files.contents(new))
        )
        _refuse_unreadable(results, new, bool(composed.component_folders))
        scratch.replace(target, new)


def _refuse_other_folder(target: Path) -> None:
    """Raise UserError if a folder, which will be replaced, is more than a crate."""
    if not target.exists() or not any(target.iterdir()):
        return
    if not (target / crate_metadata.NAME).exists():
        raise UserError(f"{target}: is not empty and not a crate; name another folder with --to")
    listed = crate_files.listed(target)
    if foreign := [name for name in crate_files.contents(target) if name not in listed]:
        raise UserError(
            f"{target}: holds {crate_files.some(foreign)} beside a crate; name another folder with"
            " --to"
        )


def _refuse_unreadable(results: Path, new: Path, has_components: bool) -> None:
    """Raise UserError if a crate that was just made is not what `verify` can read."""
    try:
        if has_components:
            user_components.forget()  # those in the crate have the names of these
        crate_plan.read(new, trust=True, limits=crate_files.DEFAULT.raised(crate_files.MOST))
    except UserError as error:
        reason = str(error).replace(f"{new}/", "").replace("; get the crate again", "")
        raise UserError(
            f"{results}: no crate was made, because `shiftbench verify` would refuse it: {reason}"
        ) from None
    finally:
        if has_components:
            user_components.forget()


def changed(crate: Path, limits: Limits = crate_files.DEFAULT) -> list[str]:
    """Return the names of the files of a crate that are changed, missing or unexpected.

    Raises UserError for a crate without checksums or metadata, and for entries that are not
    regular files.
    """
    files = crate_files.contents(crate, limits=limits)
    return crate_files.changed(crate, files, crate_metadata.checksums(crate, limits), limits)


def refuse_changed(crate: Path, limits: Limits = crate_files.DEFAULT) -> None:
    """Raise UserError with the names of changed files of a crate, if there are any."""
    if broken := changed(crate, limits):
        raise UserError(
            f"{crate}: changed since it was made: {crate_files.some(broken)}; make it again with"
            " `shiftbench crate`, or download it again"
        )


def refuse_other_code(results: ResultsFolder, plan: config.Config, config_file: Path) -> None:
    """Raise UserError if studies or runs are not those of the config and the code here."""
    studies = result_paths.finished(results.folder)
    if unknown := [name for name in studies if name not in plan.studies]:
        folders = [str(result_paths.study(results.folder, name)) for name in unknown]
        raise UserError(
            f"{results.folder}: {config_file} has no study {', '.join(unknown)}; delete"
            f" {', '.join(folders)}, or name the config of these results with --config"
        )
    if unplanned := results.unplanned():
        raise UserError(
            f"{crate_files.some(unplanned)}: the code, the packages or {config_file} here are not"
            " those of this run, so the crate would be wrong; run the workflow again, or check out"
            " the commit of the results"
        )


def _copy_runs(runs: list[Path], results: Path, crate: Path) -> None:
    for store in runs:
        crate_files.copy(store, crate / store.relative_to(results))
        path = Path(result_paths.cost(str(store)))
        cost = atomic_files.read_json(path)
        cost.pop("host", None)  # names of machines are private
        text = json.dumps(cost, indent=1, sort_keys=True)
        atomic_files.write(crate / path.relative_to(results), f"{text}\n")


def _copy_streams(runs: list[Path], results: Path, crate: Path) -> None:
    """Describe the streams of all runs, and copy those whose licence allows it."""
    names = {store_metadata.spec(path)["stream"]["name"] for path in runs}
    for name in sorted(names):
        store = result_paths.stream(results, name)
        is_open = licences.is_open(store_metadata.attributes(store)["licence"])
        if is_open:
            crate_files.copy(store, result_paths.stream(crate, name))
        croissant.write(store, crate / croissant.place(name), is_open)


def _copy_code(crate: Path) -> None:
    """Copy the workflow and the package from the checkout."""
    paths = [ROOT / name for name in crate_files.WORKFLOW]
    for folder, pattern in crate_files.FOLDERS.items():
        paths += crate_files.below(ROOT / folder, pattern)
    for path in paths:
        crate_files.copy(path, crate / path.relative_to(ROOT))
