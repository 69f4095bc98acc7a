"""The commands `list` and `show`: components, methods and studies by name."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shiftbench.config.composition import Composition
    from shiftbench.config.library import Library, YamlValue


def list_names(options: argparse.Namespace) -> None:
    """Print the components of a kind, methods, or a config's studies or claims, a line each."""
    from shiftbench.config import catalogue, components, config_file

    if options.kind == "methods":
        library, own = _library(options.config, _unchecked(options.config))
        lines = catalogue.methods(library, own)
        if options.stream is not None:
            fitting = _fitting_methods(options, {**library.methods, **own})
            lines = {name: text for name, text in lines.items() if name in fitting}
    elif options.kind == "claims" and options.stream is None:
        lines = catalogue.claims(config_file.load(options.config))
    elif options.kind == "studies" and options.stream is None:
        studies = config_file.load(options.config).studies
        lines = {name: study.title for name, study in studies.items()}
    else:
        _unchecked(options.config)  # so that the user's components are listed too
        names = components.names(options.kind) if options.stream is None else _fitting(options)
        lines = {name: components.summary(options.kind, name) for name in names}
    width = max(map(len, lines), default=0)
    for name, text in lines.items():
        print(catalogue.row(name, text, width))
    if options.kind == "studies":
        run = catalogue.command("NAME", options.config)
        print(f"\nShow one: shiftbench show NAME --config {options.config}. Run one: {run}")


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
    from shiftbench.config.tuning import TRIALS

    unchecked = _unchecked(path)
    library, own = _library(path, unchecked)
    studies = list(unchecked.data.get("studies", ())) if unchecked else []
    labels = method_labels.of_library({**library.methods, **own})
    meant = [name] if name in labels else method_labels.named(name, labels)
    shown = [catalogue.method(library, one, own) for one in meant]
    if name.removesuffix(TRIALS) in studies:
        composition = config_file.composed(path)
        config = config_file.planned(composition)
        shown.append(catalogue.study(composition, config, name, result_paths.ALL_PUBLISHED))
    if shown:
        return shown
    if others := [os.path.relpath(one) for one in library.planning(name)]:
        raise UserError(f'{path} has no study "{name}"; add --config {listed(others, "or")}')
    raise UserError(unknown("method or study", name, [*labels, *studies]))


def _unchecked(path: Path) -> Composition | None:
    """Return a config without checks, and register its user's components; None without a file."""
    from shiftbench.config import config_file

    return config_file.with_components(path) if path.exists() else None


def _library(path: Path, composition: Composition | None) -> tuple[Library, dict[str, YamlValue]]:
    """Return the library of a config, ours without one, and the methods that it defines itself.

    Raises ConfigError for a config that defines methods and has an error.
    """
    from shiftbench.config import config_file
    from shiftbench.config.library import Library

    if composition is None:
        return Library(path.parent), {}
    known = composition.library.methods
    own = {name: one for name, one in composition.methods.items() if one is not known.get(name)}
    if own:  # methods of the library need no check here
        config_file.composed(path)
    return composition.library, own


def _fitting_methods(options: argparse.Namespace, methods: Mapping[str, YamlValue]) -> set[str]:
    """Return those of the methods whose components all fit a stream of a config."""
    from shiftbench.config import compatibility
    from shiftbench.config.schema import named_by_kind

    given = _given(options)
    fitting = {k: compatibility.fitting(k, given) for k in ("learners", "combinators")}
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
