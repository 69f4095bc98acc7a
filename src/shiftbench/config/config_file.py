"""The loader of the config file, which reports every error at once.

Each error has its line and its path in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shiftbench.config import (
    claims,
    components,
    composition,
    config_checks,
    tuning,
    user_files,
    yaml_lines,
)
from shiftbench.config.composition import Composition, Found
from shiftbench.config.schema import Config, one_component
from shiftbench.config.yaml_lines import Document
from shiftbench.core.errors import UserError


class ConfigError(UserError):
    """All errors of a config file."""


def load(path: str | Path) -> Config:
    """The config with all defaults filled in. ConfigError with every error that it has."""
    return planned(composed(path))


def composed(path: str | Path) -> Composition:
    """The config as one whole, without an error. ConfigError with every error that it has."""
    return whole(yaml_lines.read(Path(path)), str(path))


def whole(document: Document, called: str) -> Composition:
    """A config file, or what stands for one, as one whole. ConfigError with every error."""
    made = _with_parts(document, called)
    made.found += [Found(document, *problem) for problem in _wrong_stem(document.path.stem)]
    made.found += [
        Found(*made.origin(place), text)
        for place, text in config_checks.problems(made.data)
        if not made.follows(place)
    ]
    made.found += _of_files(made)
    made.found += claims.problems(made.library)
    _refuse(called, made, made.found)
    return made


def use_parts(path: Path) -> Composition:
    """The config as it is written, whose own components count from now on.

    ConfigError with what is wrong with these: nothing else can be judged before they are right.
    """
    return _with_parts(yaml_lines.read(path), str(path))


def _with_parts(document: Document, called: str) -> Composition:
    made = composition.compose(document)
    _refuse(called, made, [one for one in made.found if one.place[:1] == ("components",)])
    return made


def _refuse(called: str, made: Composition, found: list[Found]) -> None:
    """ConfigError with all that was found, if something was."""
    if not found:
        return
    # Those of the file itself first.
    here = made.document
    once = _once(made, found)
    lines = sorted({(one.document is not here, *_line(one)) for one in once})
    count = f"{len(lines)} error{'s' * (len(lines) > 1)}"
    listed = [
        f"  {f'{file}, ' if elsewhere else ''}{f'line {line}, ' if line else ''}{place}: {text}"
        for elsewhere, file, line, place, text in lines
    ]
    raise ConfigError("\n".join([f"{called}: {count} (every key: config/README.md)", *listed]))


def planned(made: Composition) -> Config:
    """The config of a composition without errors."""
    config = Config.model_validate_json(config_checks.as_json(_filled(made)))
    return claims.with_claims(tuning.expanded(config), made.library)


def _once(made: Composition, found: list[Found]) -> Iterable[Found]:
    """The errors, of those that streams of one grid share that of the first."""
    first: dict[object, Found] = {}
    for wrong in found:
        text = re.sub(r'"([a-z0-9-]+)"', lambda name: made.cells.get(name[1], name[0]), wrong.text)
        first.setdefault((wrong.document.path, wrong.place, text), wrong)
    return first.values()


def _line(wrong: Found) -> tuple[str, int, str, str]:
    line = wrong.document.line(wrong.place)
    return _short(wrong.document.path), line, _spelled(wrong.place), wrong.text


def _short(path: Path) -> str:
    """A path as short as it can be written from here."""
    path, here = path.resolve(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _wrong_stem(stem: str) -> Iterator[config_checks.Problem]:
    """What is wrong with the file's name: it becomes a folder, which shell commands name."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", stem, re.ASCII):
        yield (
            (),
            f'the stem "{stem}" names a folder in results/; rename it to at most 100 plain letters,'
            " digits, hyphens, dots and underscores, with a letter or a digit first",
        )
    if stem == "published":
        yield (), "results/published/ is for what is published; rename the file"


def _of_files(made: Composition) -> Iterator[Found]:
    """What is wrong with the files that streams name; other checks see their other settings."""
    streams = made.data.get("streams")
    for name, stream in streams.items() if isinstance(streams, dict) else ():
        for key in user_files.named(stream) if isinstance(stream, dict) else ():
            for place, text in user_files.problems(stream, key, _folder(made, name, key)):
                yield Found(*made.origin(("streams", name, place)), text)


def _folder(made: Composition, stream: str, key: str) -> Path:
    """The folder where the path starts that a stream has under this key."""
    document, _ = made.origin(("streams", stream, key))
    return document.folder


def _filled(made: Composition) -> dict[str, Any]:
    """The data of a checked config, with the defaults of all components."""
    data = made.data
    streams = {name: _filled_stream(_placed(made, name)) for name in data["streams"]}
    studies = {name: _filled_study(study) for name, study in data["studies"].items()}
    return data | {"streams": streams, "studies": studies}


def _placed(made: Composition, name: str) -> dict[str, Any]:
    """A stream with the paths of its files from where we are."""
    stream = dict(made.data["streams"][name])
    for key in user_files.named(stream):
        stream = user_files.placed(stream, key, _folder(made, name, key))
    return stream


def _filled_stream(stream: dict[str, Any]) -> dict[str, Any]:
    settings = {key: value for key, value in stream.items() if key != "family"}
    return {"family": stream["family"]} | components.check("streams", stream["family"], settings)


def _filled_study(study: dict[str, Any]) -> dict[str, Any]:
    methods = {
        name: variant | {"pipeline": _filled_pipeline(variant["pipeline"])}
        for name, variant in study["methods"].items()
    }
    model = study.get("model")
    return study | {"methods": methods, "model": model and _filled_item("models", model)}


def _filled_pipeline(pipeline: list[Any]) -> list[dict[str, Any]]:
    return [_filled_item(kind, item) for kind, item in config_checks.by_kind(pipeline)]


def _filled_item(kind: str, item: Any) -> dict[str, Any]:
    name, settings = one_component(item)
    return {name: components.check(kind, name, settings)}


def _spelled(place: yaml_lines.Place) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in place]
    return "".join(parts).lstrip(".") or "the file"
