"""The verbs that people type. Modules are imported by the verbs that need them."""

from __future__ import annotations

import argparse
import os
import shutil
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown, unknown

if TYPE_CHECKING:
    from shiftbench.config.schema import Config
    from shiftbench.publish.entries import Entry

VERIFIED = {"identical": 0, "rounding": 3, "interval": 4, "different": 5}
"""Exit statuses of `verify`."""


def check(options: argparse.Namespace) -> None:
    """Checks a config and prints what it plans, and what of that will stay empty."""
    from shiftbench.config import claims, compatibility, specs

    found, of_files = checked(options.config)
    for name, study in found.studies.items():
        jobs = len(study.streams) * len(study.pipelines) * len(found.blocks(name))
        judged = len(claims.of_study(found, name))
        more = f", {judged} claims judged" if judged else ""
        of_streams = [specs.warm_ups_of(found, name, stream) for stream in study.streams]
        warm_ups = sum(map(len, of_streams)) * len(found.blocks(name))
        shared = f", {warm_ups} warm-ups" if warm_ups else ""
        print(f"{name}: {study.title}; {jobs} runs{shared}, {len(study.artefacts)} artefacts{more}")
    for note in (*of_files, *compatibility.notes(found)):
        print(f"Note: {note}")


def checked(path: Path) -> tuple[Config, list[str]]:
    """Loads a config; with notes on the user's files. UserError with all that is wrong in them."""
    from shiftbench.config import config_file

    found = config_file.load(path)
    return found, _look(found)


def _look(plan: Config) -> list[str]:
    """Notes on the files that users bring, as their families see them.

    UserError with all that is wrong in them.
    """
    from shiftbench.config import components, user_files

    wrong, notes = [], []
    for name, stream in plan.streams.items():
        named = user_files.named(stream.settings)
        if user_files.KEY in named and components.defines("streams", stream.family, "look"):
            settings = components.configured("streams", stream.family, stream.settings)
            module = components.load("streams", stream.family)
            try:
                found = module.look(settings, named[user_files.KEY]) or ()
                notes += [f"stream {name}: {note}" for note in found]
            except UserError as error:
                wrong.append(f"stream {name}: {error}")
    if wrong:
        raise UserError("\n".join(wrong))
    return notes


def list_names(options: argparse.Namespace) -> None:
    """Prints the components of a kind, methods, or a config's studies or claims, a line each."""
    from shiftbench.config import catalogue, components, config_file
    from shiftbench.config.library import Library

    if options.kind == "methods":
        lines = catalogue.methods(Library(options.config.parent))
    elif options.kind == "claims":
        lines = catalogue.claims(config_file.load(options.config))
    elif options.kind == "studies" and options.stream is None:
        studies = config_file.load(options.config).studies
        lines = {name: study.title for name, study in studies.items()}
    else:
        _use_parts(options)
        names = components.names(options.kind) if options.stream is None else _fitting(options)
        lines = {name: components.summary(options.kind, name) for name in names}
    width = max(map(len, lines), default=0)
    for name, line in lines.items():
        print(f"{name:{width}}  {line}")
    if options.kind == "studies":
        run = catalogue.command("NAME", options.config)
        print(f"\nShow one: shiftbench show NAME --config {options.config}. Run one: {run}")


def show(options: argparse.Namespace) -> None:
    """Prints a method with each setting and where it comes from, or what a study compares."""
    from shiftbench.config import catalogue, config_file

    name = options.name.lower()  # as all names are
    if options.study:
        print(catalogue.study_method(config_file.composed(options.config), options.study, name))
    else:
        print("\n\n".join(_shown(options.config, name)))


def _shown(path: Path, name: str) -> list[str]:
    """The method and the study of this name. UserError if there is neither."""
    from shiftbench.config import catalogue, config_file
    from shiftbench.config.compatibility_words import listed
    from shiftbench.config.library import Library
    from shiftbench.config.tuning import TRIALS

    made = config_file.use_parts(path) if path.exists() else None
    library = made.library if made else Library(path.parent)
    studies = list(made.data.get("studies", ())) if made else []
    shown = [catalogue.method(library, name)] if name in library.methods else []
    if name.removesuffix(TRIALS) in studies:
        made = config_file.composed(path)
        plan = config_file.planned(made)
        shown.append(catalogue.study(made, plan, name, Path("results/published")))
    if shown:
        return shown
    if others := [os.path.relpath(one) for one in library.planning(name)]:
        raise UserError(f'{path} has no study "{name}"; add --config {listed(others, "or")}')
    raise UserError(unknown("method or study", name, [*library.methods, *studies]))


def test(options: argparse.Namespace) -> int:
    """Tries a folder of your own components against the contract that ours keep; 1 if one fails."""
    from importlib.util import find_spec

    from shiftbench.config import user_components

    if wrong := user_components.use(options.folder):
        raise UserError("\n".join(wrong))
    if find_spec("pytest") is None:
        raise UserError("`test` needs pytest, which is not installed here: pip install pytest")

    from shiftbench.contract import run

    return int(run.failed(options.folder.resolve().name))


def words(options: argparse.Namespace) -> None:
    """Prints when words change in a study's run, and their neighbours before and after."""
    from shiftbench.config import config_file, specs
    from shiftbench.evaluation.artefacts import _words
    from shiftbench.evaluation.scoring import results

    plan = config_file.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    folder = options.results or Path("results") / options.config.stem
    of_study = folder / "studies" / options.study
    study = results.load(
        specs.scores(plan, options.study) | {"title": ""},
        of_study / "scores.zarr.zip",
        of_study / "summary.csv",
        [folder / "streams" / f"{name}.zarr.zip" for name in plan.studies[options.study].streams],
    )
    print(_words.describe(study, options.words, options.learner, options.seed))


def publish(options: argparse.Namespace) -> None:
    """Copies summaries, figures and tables to where they are committed, or uploads a crate."""
    from shiftbench.publish import publish, upload

    place = upload.place(options.to) if options.to else None
    if place is None:
        published = options.results.parent / "published" / options.results.name
        target = Path(options.to) if options.to else published
        for name, done in publish.publish(options.results, target, options.dry_run).items():
            print(f"{name}: {done}{' (dry run)' if options.dry_run else ''}")
        return
    with upload.crate_of(options.results, _config_of(options)) as crate:
        sent = upload.send(crate, place, options.dry_run)
    for name in sent.missing:
        print(f"{name}: {'to upload' if options.dry_run else 'uploaded'}")
    print(f"{options.to}: {len(sent.missing):,} files new, {sent.there:,} unchanged")


def crate(options: argparse.Namespace) -> None:
    """Writes results with code, config, data and provenance to a folder that others can check."""
    from shiftbench.publish import crate

    crate.make(options.results, _config_of(options), options.to.resolve())
    print(f"{options.to}: {len(crate.contents(options.to)):,} files")


def site(options: argparse.Namespace) -> None:
    """Makes the pages of a folder of results, which open from disk."""
    from shiftbench.publish.site import pages

    made = pages.write(options.results, options.to, options.config, _entries(options))
    for name in made.left_out:
        print(f"{name}: left out, since its config has no such study any more")
    number = len(made.studies)
    print(f"{number} {'study' if number == 1 else 'studies'}: {options.to / 'index.html'}")


def _entries(options: argparse.Namespace) -> list[Entry]:
    """Those of the crates that are named, each told in a line as it is checked."""
    if not options.crates:
        return []
    from shiftbench.publish import entries

    found = []
    for folder in options.crates:
        for one in entries.read(folder, options.sample, options.seed, options.trust):
            state = one.problem or "verified"
            print(f"{one.crate}: {one.study}/{one.learner} on {one.stream}: {state}", flush=True)
            found.append(one)
    return found


def verify(options: argparse.Namespace) -> int:
    """Compares results with the published ones, or checks a crate; 0 if identical, else 3 to 5.

    3: same within rounding; 4: within the interval over seeds; 5: different. Of a crate all files
    are compared with their checksums, then some of its runs with what comes out when they are
    computed again.
    """
    from shiftbench.publish import crate_metadata, verify

    alone = options.reference is None and options.revision is None
    if alone and (options.results / crate_metadata.NAME).exists():
        return _verify_crate(options)
    reference = options.reference or options.results.parent / "published" / options.results.name
    with ExitStack() as opened:
        if options.revision:
            reference = opened.enter_context(verify.at_revision(reference, options.revision))
        findings = verify.compare(options.results, reference)
        lines = verify.lines(findings, options.results, reference)
    print(*lines, sep="\n")
    if options.table:
        print("", verify.table(findings) or "Nothing differs.", sep="\n")
    return VERIFIED[verify.worst(findings)]


def warm(options: argparse.Namespace) -> int:
    """Run a command with fork servers (see `runtime.forkserver_client`)."""
    from shiftbench.runtime import forkserver_client

    command = options.command[options.command[:1] == ["--"] :]
    if not command:
        raise UserError("warm: name a command to run, as in `warm -- snakemake`")
    if not shutil.which(command[0]):
        raise UserError(f"warm: there is no command {command[0]} that can be run; check its name")
    return forkserver_client.run(command)


def _verify_crate(options: argparse.Namespace) -> int:
    from shiftbench.publish import crate, recompute, verify

    folder = options.results
    if changed := crate.changed(folder):
        print(*(f"{name}: changed after the crate was made" for name in changed), sep="\n")
        return VERIFIED["different"]
    print(f"checksums: all {len(crate.contents(folder)):,} files are what the crate says")
    verdicts = ["identical"]
    studies, runs = recompute.with_scores(folder), recompute.small(folder)
    drawn = recompute.sample(runs, options.sample, options.seed)
    again = [partial(recompute.scores_again, folder, study) for study in studies]
    again += [partial(recompute.again, folder, run) for run in drawn]
    for compute in again:
        found = compute()
        print(f"{found.name}: {found.verdict}, {found.note}", flush=True)
        verdicts.append(found.verdict)
    print(f"scores: of {len(studies)} studies computed from their runs")
    print(
        f"runs: {len(drawn)} computed again, of {len(runs):,} that are small and have their stream"
    )
    return VERIFIED[max(verdicts, key=verify.VERDICTS.index)]


def _config_of(options: argparse.Namespace) -> Path:
    """The config of a folder of results: the one that is named, or the one of its name."""
    return options.config or Path("config") / f"{options.results.resolve().name}.yaml"


def _use_parts(options: argparse.Namespace) -> None:
    """Lets the components of the config's user count, if there is a config."""
    from shiftbench.config import config_file

    if options.config.exists():
        config_file.use_parts(options.config)


def _fitting(options: argparse.Namespace) -> list[str]:
    """The components of a kind that fit a stream of a config."""
    from shiftbench.config import compatibility, config_file

    if options.kind in ("studies", "streams", "claims"):
        raise UserError(f"list {options.kind}: --for is for what can be used on a stream")
    plan = config_file.load(options.config)
    refuse_unknown("stream", options.stream, plan.streams)
    given = compatibility.given(options.stream, plan.streams[options.stream])
    assert given is not None  # the config was checked
    return compatibility.fitting(options.kind, given)
