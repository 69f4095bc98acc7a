"""The commands `check` and `test`: what is wrong with a config, or with components of the user."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.core.errors import UserError

if TYPE_CHECKING:
    from shiftbench.config.schema import Config, Stream


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

    Returns the config, and notes on columns that are left out and on unclear licences. Raises
    UserError with all errors.
    """
    from shiftbench.config import config_file, raw_data_notes

    try:
        composition = config_file.composed(path)
    except config_file.ConfigError as error:
        try:
            _notes_on_files(error.streams)
        except UserError as of_files:
            raise UserError(f"{error}\n{of_files}") from None
        raise
    config = config_file.planned(composition)
    of_raw = chain(raw_data_notes.on_mirrors(config), raw_data_notes.on_licences(config))
    return config, [*composition.left_out(), *_notes_on_files(config.streams), *of_raw]


def _notes_on_files(streams: Mapping[str, Stream]) -> list[str]:
    """Return notes on the user's data files from their families. UserError with all errors."""
    from shiftbench.config import components, user_files

    errors, notes = [], []
    for name, stream in streams.items():
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


def test(options: argparse.Namespace) -> int:
    """Test a folder of your own components against the contract of ours; 1 if one fails."""
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise UserError("`test` needs pytest, which is not installed here: pip install pytest")

    from shiftbench.contract import run

    if not options.folder.is_dir():
        raise UserError(f"{options.folder}: there is no such folder; check its path")
    return int(run.failed(options.folder, options.limit))
