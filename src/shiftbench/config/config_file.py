"""The loader of config files, which reports all errors at once, with line and key of each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from shiftbench.config import (
    assembly,
    claims,
    component_checks,
    components,
    config_checks,
    method_checks,
    tuning,
    user_files,
    yaml_lines,
)
from shiftbench.config.composition import Composition, FileIssue
from shiftbench.config.schema import Config, Stream
from shiftbench.config.yaml_lines import Document, Issue, KeyPath
from shiftbench.core.errors import UserError


class ConfigError(UserError):
    """All errors of a config file; with its streams that have none, placed, for further checks."""

    streams: Mapping[str, Stream] = MappingProxyType({})


def load(path: str | Path) -> Config:
    """Return the config with all defaults filled in. ConfigError with all errors of the file."""
    return planned(composed(path))


def composed(path: str | Path, in_crate: bool = False) -> Composition:
    """Return the config as one checked document. ConfigError with all errors of the file.

    in_crate: a crate has all files that its config names, except for the user's data.
    """
    return checked(yaml_lines.read(Path(path)), str(path), in_crate)


def checked(document: Document, label: str, in_crate: bool = False) -> Composition:
    """Return the composition of a config document, checked; ConfigError with all errors.

    label: what error messages call it. in_crate: see `composed`.
    """
    composition = _with_components(document, label, in_crate)
    config, issues = config_checks.check(composition.data)
    composition.issues += [FileIssue(document, *issue) for issue in _of_stem(document.path.stem)]
    reported = {(one.document.path, one.place) for one in composition.issues}
    composition.issues += [
        FileIssue(document, at, message)
        for place, message in issues
        for document, at in [composition.origin(place)]
        if not composition.may_follow(place) and (document.path, at) not in reported
    ]
    composition.issues += () if in_crate else _of_user_files(composition)
    composition.issues += claims.issues(composition.library)
    composition.issues += method_checks.issues(composition.methods.values())
    try:
        _refuse(label, composition, composition.issues)
    except ConfigError as error:
        if not in_crate:  # a crate must not lead to files of this machine
            error.streams = _sound_streams(composition)
        raise
    composition.config = config
    return composition


def with_components(path: Path) -> Composition:
    """Return the unchecked config, and register its user's components.

    Raises ConfigError for errors in these components, because other checks depend on them.
    """
    return _with_components(yaml_lines.read(path), str(path))


def planned(composition: Composition) -> Config:
    """Return the config of a checked composition, with its trials and the claims that it judges."""
    config = composition.config
    assert config is not None
    streams = {name: _placed(composition, name, one) for name, one in config.streams.items()}
    config = config.model_copy(update={"streams": streams})
    return claims.with_claims(tuning.expanded(config), composition.library)


def _with_components(document: Document, label: str, in_crate: bool = False) -> Composition:
    composition = assembly.compose(document, alone=in_crate)
    of_components = [issue for issue in composition.issues if issue.place[:1] == ("components",)]
    _refuse(label, composition, of_components)
    return composition


class _Line(NamedTuple):
    """An issue as a line of the error message; lines sort with those of the config itself first."""

    elsewhere: bool
    file: str
    line: int
    place: str
    message: str

    def __str__(self) -> str:
        file = f"{self.file}, " if self.elsewhere else ""
        line = f"line {self.line}, " if self.line else ""
        return f"  {file}{line}{self.place}: {self.message}"


def _refuse(label: str, composition: Composition, issues: list[FileIssue]) -> None:
    """Raise ConfigError with all issues, if there are any."""
    if not issues:
        return
    lines = {
        _Line(
            document is not composition.document,
            _short(document.path),
            document.line(place),
            _spelled(place),
            message,
        )
        for document, place, message in _once_a_grid(composition, issues)
    }
    count = f"{len(lines)} error{'s' * (len(lines) > 1)}"
    head = f"{label}: {count} (every key: config/README.md)"
    raise ConfigError("\n".join([head, *map(str, sorted(lines))]))


def _once_a_grid(composition: Composition, issues: list[FileIssue]) -> list[FileIssue]:
    """Deduplicate issues that all cells of a grid share: only that of the first cell stays."""
    first: dict[object, FileIssue] = {}
    for issue in issues:
        message = re.sub(
            r'"([a-z0-9-]+)"',
            lambda name: composition.cells.get(name[1], name[0]),
            issue.message,
        )
        first.setdefault((issue.document.path, issue.place, message), issue)
    return list(first.values())


def _short(path: Path) -> str:
    """Return a path relative to the working directory if it lies there."""
    path, here = path.resolve(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _spelled(place: KeyPath) -> str:
    keys = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in place]
    return "".join(keys).lstrip(".") or "the file"


def _of_stem(stem: str) -> Iterator[Issue]:
    """Check the file's name, which becomes the name of a folder in shell commands."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", stem, re.ASCII):
        yield (
            (),
            f'the stem "{stem}" names a folder in results/; rename it to at most 100 plain letters,'
            " digits, hyphens, dots and underscores, with a letter or a digit first",
        )
    if stem == "published":
        yield (), "results/published/ is for what is published; rename the file"


def _of_user_files(composition: Composition) -> Iterator[FileIssue]:
    """Check the files that streams name; other checks see the other settings of these streams."""
    for name, stream in component_checks.mapping(composition.data.get("streams")).items():
        for key, message in _of_files(composition, name, component_checks.mapping(stream)):
            yield FileIssue(*composition.origin(("streams", name, key)), message)


def _of_files(
    composition: Composition, name: str, stream: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield keys of a stream and messages about the files that it names."""
    yield from without_path(stream)
    for key in user_files.named(stream):
        yield from user_files.issues(stream, key, _folder(composition, name, key))


def _sound_streams(composition: Composition) -> dict[str, Stream]:
    """Return the streams without an error, with all defaults, placed."""
    found = {}
    for name, written in component_checks.mapping(composition.data.get("streams")).items():
        stream = component_checks.mapping(written)
        one = {"streams": {name: stream}}
        if not isinstance(stream.get("family"), str) or [*component_checks.fill(one)]:
            continue
        filled = Stream(**one["streams"][name])
        wrong = components.unsupported("streams", filled.family, filled.settings)
        if not wrong and not [*_of_files(composition, name, stream)]:
            found[name] = _placed(composition, name, filled)
    return found


def without_path(stream: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key and a message if a family that needs a path is given an empty one."""
    family = stream.get("family")
    if stream.get(user_files.KEY) == "" and family in components.names("streams"):
        _, default, _ = components.fields("streams", family)[user_files.KEY]
        if default is dataclasses.MISSING:
            yield user_files.KEY, "it is empty; name a file or a folder"


def _placed(composition: Composition, name: str, stream: Stream) -> Stream:
    """Return a stream with the paths of its files relative to the working directory."""
    settings = stream.settings
    for key in user_files.named(settings):
        settings = user_files.placed(settings, key, _folder(composition, name, key))
    return Stream(**{"family": stream.family} | settings)


def _folder(composition: Composition, stream: str, key: str) -> Path:
    """Return the folder where the path starts that a stream has under a key."""
    document, _ = composition.origin(("streams", stream, key))
    return document.folder
