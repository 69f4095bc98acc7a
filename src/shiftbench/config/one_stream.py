"""Checks a stream that is in no config file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from shiftbench.config import component_checks, components, form_errors, user_files
from shiftbench.config.base_model import Name
from shiftbench.config.config_file import ConfigError, without_path
from shiftbench.config.schema import Config, Stream
from shiftbench.config.yaml_lines import Issue


def config_of(name: str, definition: Mapping[str, Any]) -> Config:
    """Return a config with one stream and no study, all defaults filled in.

    definition: `family` and its settings, as plain data; paths start in the working directory.
    Raises ConfigError with all errors.
    """
    issues: list[Issue] = list(_of_name(name))
    checking = component_checks.check_stream((), dict(definition))
    filled = None
    while True:
        try:
            issues.append(next(checking))
        except StopIteration as end:
            filled = end.value
            break
    if filled is not None:
        filled, of_files = _placed(filled)
        settings = {key: value for key, value in filled.items() if key != "family"}
        reasons = components.unsupported("streams", filled["family"], settings)
        issues += [*of_files, *(((), reason) for reason in reasons)]
    if issues:
        lines = [f"  {'.'.join(map(str, place)) or 'settings'}: {text}" for place, text in issues]
        count = f"{len(lines)} error{'s' * (len(lines) > 1)}"
        head = f'stream "{name}": {count} (every setting: config/README.md)'
        raise ConfigError("\n".join([head, *lines]))
    assert filled is not None
    return Config.model_construct(streams={name: Stream(**filled)}, studies={}, claims={})


def plain(value: Any) -> Any:
    """Return a value as a config file would hold it: texts, numbers, lists and mappings."""
    return json.loads(json.dumps(value, default=_of_library))


def _of_library(value: Any) -> Any:
    """Return a NumPy value as a Python number or list; any other value as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _of_name(name: str) -> Iterator[Issue]:
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        yield from ((("name",), form_errors.message(one)) for one in error.errors())


def _placed(filled: dict[str, Any]) -> tuple[dict[str, Any], list[Issue]]:
    """Return the stream with paths from the working directory on, and what is wrong with them."""
    issues: list[Issue] = [((key,), text) for key, text in without_path(filled)]
    for key in user_files.named(filled):
        found = list(user_files.issues(filled, key, Path.cwd()))
        issues += [((wrong,), text) for wrong, text in found]
        filled = filled if found else user_files.placed(filled, key, Path.cwd())
    return filled, issues
