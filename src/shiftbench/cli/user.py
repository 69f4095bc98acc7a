"""The commands for users. Each imports the modules that it needs, so that all start fast."""

from __future__ import annotations

import argparse
import os
import shutil
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown, unknown

if TYPE_CHECKING:
    from shiftbench.config.library import Library
    from shiftbench.config.schema import Config
    from shiftbench.publish.leaderboard_entries import Entry


def check(options: argparse.Namespace) -> None:
    """Check a config, and print what it plans, with notes on its data and results."""
    from shiftbench.config import (
        claims,
        compatibility,
        seed_checks,
        shared_warm_ups,
        trial_checks,
    )

    config, notes_on_data = checked(options.config)
    for name, study in config.studies.items():
        blocks = len(config.blocks(name))
        runs = len(study.streams) * len(study.pipelines) * blocks
        judged = len(claims.of_study(config, name))
        of_streams = [shared_warm_ups.of_study(config, name, one) for one in study.streams]
        warm_ups = sum(map(len, of_streams)) * blocks
        counts = {
            "run": runs,
            "warm-up": warm_ups,
            "artefact": len(study.artefacts),
            "judged claim": judged,
        }
        shown = [
            f"{number} {what}{'s' * (number > 1)}" for what, number in counts.items() if number
        ]
        print(f"{name}: {study.title}; {', '.join(shown)}")
    of_modules = [part.notes(config) for part in (compatibility, seed_checks, trial_checks)]
    for note in chain(notes_on_data, *of_modules):
        print(f"Note: {note}")


def checked(path: Path) -> tuple[Config, list[str]]:
    """Load a config, and check the user's data files that it names.

    Returns the config, and notes on its data: what is left out, and of unclear licence. Raises
    UserError with all errors.
    """
    from shiftbench.config import config_file, raw_data_notes

    composition = config_file.composed(path)
    config = config_file.planned(composition)
    of_raw = chain(raw_data_notes.on_mirrors(config), raw_data_notes.on_licences(config))
    return config, [*composition.left_out(), *_notes_on_files(config), *of_raw]


def _notes_on_files(config: Config) -> list[str]:
    """Return notes on the user's data files from their families. UserError with all errors."""
    from shiftbench.config import components, user_files

    errors, notes = [], []
    for name, stream in config.streams.items():
        files = user_files.named(stream.settings)
        if user_files.KEY in files and components.defines("streams", stream.family, "look"):
            settings = components.configured("streams", stream.family, stream.settings)
            module = components.load("streams", stream.family)
            try:
                of_file = module.look(settings, files[user_files.KEY]) or ()
                notes += [f"stream {name}: {note}" for note in of_file]
            except UserError as error:
                errors.append(f"stream {name}: {error}")
    if errors:
        raise UserError("\n".join(errors))
    return notes


def list_names(options: argparse.Namespace) -> None:
    """Print the components of a kind, methods, or a config's studies or claims, a line each."""
    from shiftbench.config import catalogue, components, config_file

    if options.kind == "methods":
        lines = catalogue.methods(_library(options.config))
        if options.stream is not None:
            fitting = _fitting_methods(options)
            lines = {name: text for name, text in lines.items() if name in fitting}
    elif options.kind == "claims" and options.stream is None:
        lines = catalogue.claims(config_file.load(options.config))
    elif options.kind == "studies" and options.stream is None:
        studies = config_file.load(options.config).studies
        lines = {name: study.title for name, study in studies.items()}
    else:
        if options.config.exists():  # its user's components are listed too
            config_file.with_components(options.config)
        names = components.names(options.kind) if options.stream is None else _fitting(options)
        lines = {name: components.summary(options.kind, name) for name in names}
    width = max(map(len, lines), default=0)
    for name, text in lines.items():
        print(catalogue.row(name, text, width))
    if options.kind == "studies":
        run = catalogue.command("NAME", options.config)
        print(f"\nShow one: shiftbench show NAME --config {options.config}. Run one: {run}")


def _library(path: Path) -> Library:
    """Return the library of a config, and register its user's components; ours if it is absent."""
    from shiftbench.config import config_file
    from shiftbench.config.library import Library

    return config_file.with_components(path).library if path.exists() else Library(path.parent)


def show(options: argparse.Namespace) -> None:
    """Print a method with the origin of each setting, or what a study compares."""
    from shiftbench.config import catalogue, config_file

    name = options.name.lower()  # names have small letters only
    if options.study:
        print(catalogue.study_method(config_file.composed(options.config), options.study, name))
    else:
        print("\n\n".join(_shown(options.config, name)))


def _shown(path: Path, name: str) -> list[str]:
    """Describe the method and the study of a name, or the methods with this label.

    UserError for an unknown name.
    """
    from shiftbench.config import catalogue, config_file, method_labels, result_paths
    from shiftbench.config.compatibility_words import listed
    from shiftbench.config.library import Library
    from shiftbench.config.tuning import TRIALS

    unchecked = config_file.with_components(path) if path.exists() else None
    library = unchecked.library if unchecked else Library(path.parent)
    studies = list(unchecked.data.get("studies", ())) if unchecked else []
    labels = method_labels.of_library(library.methods)
    meant = [name] if name in labels else method_labels.named(name, labels)
    shown = [catalogue.method(library, one) for one in meant]
    if name.removesuffix(TRIALS) in studies:
        composition = config_file.composed(path)
        config = config_file.planned(composition)
        shown.append(catalogue.study(composition, config, name, result_paths.ALL_PUBLISHED))
    if shown:
        return shown
    if others := [os.path.relpath(one) for one in library.planning(name)]:
        raise UserError(f'{path} has no study "{name}"; add --config {listed(others, "or")}')
    raise UserError(unknown("method or study", name, [*library.methods, *studies]))


def test(options: argparse.Namespace) -> int:
    """Test a folder of your own components against the contract of ours; 1 if one fails."""
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise UserError("`test` needs pytest, which is not installed here: pip install pytest")

    from shiftbench.contract import run

    if not options.folder.is_dir():
        raise UserError(f"{options.folder}: there is no such folder; check its path")
    return int(run.failed(options.folder, options.limit))


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
    """Copy summaries, figures and tables to the committed folder, or upload a crate."""
    from shiftbench.config import config_file
    from shiftbench.publish import result_files, study_copy, upload
    from shiftbench.publish.results_folder import ResultsFolder

    if not options.results.is_dir():
        raise UserError(f"{options.results}: there is no such folder; name one as results/CONFIG")
    destination = upload.target_of(options.to) if options.to is not None else None
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
    with upload.crate_of(options.results, config) as crate:
        sent = upload.send(crate, destination, options.dry_run)
    for name in sent.missing:
        print(f"{name}: {'to upload' if options.dry_run else 'uploaded'}")
    print(f"{options.to}: {len(sent.missing):,} files new, {sent.there:,} unchanged")


def crate(options: argparse.Namespace) -> None:
    """Write results, code, config, data and provenance to a folder that others can verify."""
    from shiftbench.publish import crate, crate_files

    _note_licences(config_of(options))
    crate.make(options.results, config_of(options), options.to.resolve())
    print(f"{options.to}: {len(crate_files.contents(options.to)):,} files")


def _note_licences(path: Path) -> None:
    """Print which data of a config have an unclear licence, before a crate describes them."""
    from shiftbench.config import config_file, raw_data_notes

    for note in raw_data_notes.on_licences(config_file.load(path)):
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
    from shiftbench.publish import leaderboard_entries

    seed, limits = verifying.seed_of(options), verifying.limits_of(options.limit)
    checked_entries = []
    for folder in options.crates:
        of_crate = leaderboard_entries.read(folder, options.sample, seed, options.trust, limits)
        for one in of_crate:
            state = one.problem or "verified"
            verifying.say(f"{one.crate}: {one.study}/{one.method} on {one.stream}: {state}")
            checked_entries.append(one)
    print(f"Runs drawn with --seed {seed}")
    return checked_entries


def warm(options: argparse.Namespace) -> int:
    """Run a command with fork servers (see `runtime.forkserver_client`)."""
    from shiftbench.runtime import forkserver_client

    command = options.command[options.command[:1] == ["--"] :]
    if not command:
        raise UserError("warm: name a command to run, as in `warm -- snakemake`")
    if not shutil.which(command[0]):
        raise UserError(f"warm: there is no command {command[0]} that can be run; check its name")
    return forkserver_client.run(command)


def config_of(options: argparse.Namespace) -> Path:
    """Return the config of a folder of results: that of the option, or that of its name."""
    if options.config:
        return options.config
    usual = Path("config") / f"{options.results.resolve().name}.yaml"
    if not usual.is_file():
        raise UserError(f"{usual}: there is no such file; name the config of the results: --config")
    return usual


def _fitting_methods(options: argparse.Namespace) -> set[str]:
    """Return the methods whose components all fit a stream of a config."""
    from shiftbench.config import compatibility
    from shiftbench.config.schema import named_by_kind

    given = _given(options)
    fitting = {k: compatibility.fitting(k, given) for k in ("learners", "combinators")}
    methods = _library(options.config).methods
    return {
        name
        for name, method in methods.items()
        if (pipeline := method.data.get("pipeline"))
        and all(component in fitting[kind] for kind, component, _ in named_by_kind(pipeline))
    }


def _fitting(options: argparse.Namespace) -> list[str]:
    """Return the components of a kind that fit a stream of a config."""
    from shiftbench.config import compatibility

    if options.kind in ("studies", "streams", "claims"):
        raise UserError(
            f"list {options.kind}: --for does not apply to {options.kind}; leave it out"
        )
    return compatibility.fitting(options.kind, _given(options))


def _given(options: argparse.Namespace) -> Any:
    """Return what a stream of a config gives to methods. UserError for an unknown stream."""
    from shiftbench.config import compatibility, config_file

    config = config_file.load(options.config)
    refuse_unknown("stream", options.stream, config.streams)
    given = compatibility.given(options.stream, config.streams[options.stream])
    assert given is not None  # the config was checked
    return given
