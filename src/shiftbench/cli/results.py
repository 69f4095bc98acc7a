"""The commands that use results: `words`, `publish`, `crate` and `site`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown

if TYPE_CHECKING:
    from shiftbench.publish.leaderboard_entries import Entry


def words(options: argparse.Namespace) -> None:
    """Print the times at which words change in a study's run, and their neighbours then."""
    from shiftbench.config import config_file, result_paths, specs
    from shiftbench.evaluation.scoring import results
    from shiftbench.evaluation.scoring.words import histories

    config = config_file.load(options.config)
    refuse_unknown("study", options.study, config.studies)
    folder = options.results or result_paths.of_config(options.config.stem)
    of_study = result_paths.study(folder, options.study)
    study = results.load(
        specs.scores(config, options.study) | {"title": ""},
        of_study / result_paths.SCORES,
        of_study / result_paths.SUMMARY,
        [result_paths.stream(folder, name) for name in config.studies[options.study].streams],
    )
    print(histories.describe(study, options.words, options.method, options.seed))


def publish(options: argparse.Namespace) -> None:
    """Copy results to the folder of published results, or upload a crate."""
    from shiftbench.config import config_file
    from shiftbench.publish import result_files, study_copy, upload
    from shiftbench.publish.results_folder import ResultsFolder

    if not options.results.is_dir():
        raise UserError(f"{options.results}: there is no such folder; name one as results/CONFIG")
    destination = upload.target_of(options.to) if options.to is not None else None
    if destination is None and upload.is_crate(options.results):
        raise UserError(
            f"{options.results}: is a crate; copy its folder, or name s3://BUCKET/PREFIX or zenodo:"
            " with --to"
        )
    is_copy = result_files.is_published(options.results)
    if options.source_data and (is_copy or destination is not None):
        raise UserError(
            "--source-data: only results of a run get source data, and only where they are copied"
            " to a folder; remove the option"
        )
    if destination is None:
        target = study_copy.target_of(options.results, options.to)
        plan = None if is_copy else config_file.load(config_of(options))
        done = study_copy.publish(
            ResultsFolder(options.results, plan), target, options.dry_run, options.source_data
        )
        for name, change in done.items():
            print(f"{name}: {change}{' (dry run)' if options.dry_run else ''}")
        return
    config = None if upload.is_crate(options.results) else config_of(options)
    if config:
        _note_licences(config)
        _note_citation(config)
    with upload.crate_of(options.results, config) as crate:
        sent = upload.send(crate, destination, options.dry_run)
    for name in sent.missing:
        print(f"{name}: {'to upload' if options.dry_run else 'uploaded'}")
    print(f"{options.to}: {len(sent.missing):,} files new, {sent.there:,} unchanged")


def crate(options: argparse.Namespace) -> None:
    """Write results, code, config, data and provenance to a folder that others can verify."""
    from shiftbench.publish import crate, crate_files

    _note_licences(config_of(options))
    _note_citation(config_of(options))
    crate.make(options.results, config_of(options), options.to.resolve())
    print(f"{options.to}: {len(crate_files.contents(options.to)):,} files")


def _note_licences(path: Path) -> None:
    """Print which data of a config have no clear licence, before a crate describes them."""
    from shiftbench.config import config_file, raw_data_notes

    config = config_file.load(path)
    for note in (*raw_data_notes.on_licences(config), *raw_data_notes.on_own_data(config)):
        print(f"Note: {note}", flush=True)


def _note_citation(path: Path) -> None:
    """Print what a crate will lack about who made the results of a config."""
    from shiftbench.publish import crate_config

    for note in crate_config.on_citation(path):
        print(f"Note: {note}", flush=True)


def site(options: argparse.Namespace) -> None:
    """Make the pages of a folder of results, which open from disk."""
    from shiftbench.publish.site import pages

    site = pages.write(options.results, options.to, options.config, _entries(options))
    for name in site.left_out:
        print(f"{name}: left out, since its config has no such study any more")
    number = len(site.studies)
    print(f"{number} {'study' if number == 1 else 'studies'}: {options.to / 'index.html'}")


def _entries(options: argparse.Namespace) -> list[Entry]:
    """Return the leaderboard entries of the crates; print a line on each when it is checked."""
    if not options.crates:
        return []
    from shiftbench.cli import verifying
    from shiftbench.config import user_components
    from shiftbench.publish import leaderboard_entries

    seed, limits = verifying.seed_of(options), verifying.limits_of(options.limit)
    checked_entries = []
    labels = leaderboard_entries.labels(options.crates)
    for folder, label in zip(options.crates, labels, strict=True):
        of_crate = leaderboard_entries.read(folder, options.sample, seed, options.trust, limits)
        for one in of_crate:
            state = one.problem or "verified"
            verifying.say(f"{label}: {one.study}/{one.method} on {one.stream}: {state}")
            checked_entries.append(one._replace(crate=label))
    user_components.forget()  # a package of ours may have the name of one of a crate
    print(f"Runs drawn with --seed {seed}")
    return checked_entries


def config_of(options: argparse.Namespace) -> Path:
    """Return the config of a folder of results: from `--config`, or by the folder's name."""
    if options.config:
        return options.config
    usual = Path("config") / f"{options.results.resolve().name}.yaml"
    if not usual.is_file():
        raise UserError(f"{usual}: there is no such file; name the config of the results: --config")
    return usual
