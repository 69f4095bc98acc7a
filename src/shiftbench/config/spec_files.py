"""Specs as files: the process that plans writes them, and jobs read them instead of a config.

A file is named by the digest of its spec. For each digest of code a file beside it has a checksum
of the source files: a job parses them only if the checksum differs. Imports little, since every
job imports this.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from shiftbench.core import atomic_files, checkout
from shiftbench.core.errors import UserError

Spec = dict[str, Any]


def signed(spec: Spec) -> Spec:
    """Return a spec with its digest."""
    canonical = json.dumps(spec, sort_keys=True)
    return spec | {"digest": hashlib.sha256(canonical.encode()).hexdigest()}


def parsed(text: str) -> Spec:
    """Return the spec in the attributes of a store; old ones call a method a variant."""
    spec = json.loads(text)
    if "variant" in spec:
        spec["method"] = spec.pop("variant")
    return spec


def path(folder: Path, spec: Spec) -> Path:
    """Return where a spec lies in a folder."""
    return folder / f"{spec['digest']}.json"


def code(modules: Iterable[str], files: Iterable[str]) -> dict[str, Any]:
    """Return the record with which a job compares the code.

    modules: those behind the digest of its code. files: the files with this code, each as the name
    of its package and the path in it.
    """
    from shiftbench.config import components

    files = sorted(files)
    sha256 = _sha256(files, components.packages())
    return {"modules": list(modules), "files": files, "sha256": sha256}


def write(folder: Path, spec: Spec, code: Mapping[str, Any]) -> None:
    """Write a spec that was planned here, and its `code`, unless they are there."""
    _keep(_code(folder, spec), code)
    _keep(path(folder, spec), spec)  # in the order of the config, which tables keep


def read(
    file: Path, packages: Mapping[str, Path], of_code: Callable[..., Mapping[str, str]]
) -> Spec:
    """Return the spec of a job.

    packages: folders of the user's components, by name. of_code: `spec_code.of_code`. This module
    cannot import it, because then all code for planning would count as code of every run. UserError
    if the file is not what the workflow wrote, or if the code has changed since the spec was
    planned.
    """
    try:
        spec = atomic_files.read_json(file)
        code = atomic_files.read_json(_code(file.parent, spec))
        sound = file.stem == signed({key: spec[key] for key in spec if key != "digest"})["digest"]
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: no such spec; start the workflow again") from None
    except (KeyError, TypeError):
        sound = False
    if not sound:
        raise UserError(f"{file}: this is not the spec that was planned; start the workflow again")
    if code["sha256"] != _sha256(code["files"], packages):
        _refuse_other_code(spec, of_code(*code["modules"]))
    return spec


def _refuse_other_code(spec: Spec, now: Mapping[str, str]) -> None:
    """Raise UserError if the code differs from the planned code by more than comments."""
    if any(now[key] != spec[key] for key in now):
        raise UserError(
            "the code or the lock of its packages changed while the workflow ran; start it again"
            f" (planned {spec['code'][:12]}, now {now['code'][:12]})"
        )


def _code(folder: Path, spec: Spec) -> Path:
    return folder / f"code-{spec['code'][:16]}.json"


def _sha256(files: Iterable[str], packages: Mapping[str, Path]) -> str:
    """Return the checksum of files of code, of the YAML files beside them, and of the lock."""
    digest = hashlib.sha256()
    for name in files:
        package, _, inside = name.partition("/")
        file = (packages.get(package) or checkout.PACKAGE) / inside
        for part in (file, file.with_suffix(".yaml")):
            content = part.read_bytes() if part.is_file() else b""
            digest.update(f"{name} {len(content)}\n".encode() + content)
    for lock in (checkout.LOCK, checkout.GPU_LOCK):
        digest.update(lock.read_bytes() if lock.is_file() else b"")
    return digest.hexdigest()


def _keep(place: Path, content: Any) -> None:
    """Write a JSON file at once, unless it has this content."""
    text = json.dumps(content, indent=0) + "\n"
    if not place.is_file() or place.read_text(encoding="utf-8") != text:
        atomic_files.write(place, text)
