"""Digests of the code and the packages that a job depends on, and records for its own check."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from shiftbench.config import components, digest, environment, spec_files
from shiftbench.config.spec_files import Spec

_modules: dict[str, tuple[str, ...]] = {}
"""The modules behind each digest of code that was computed in this process."""
_environments: dict[str, dict[str, list[str]]] = {}
"""The packages behind each digest of an environment, with their versions."""
STORES = "shiftbench.data.store.zarr_zip"


def of_code(*modules: str) -> dict[str, str]:
    """Return the digests of modules with all that they import, and of the packages that they need.

    Every job reads or writes stores, so the code of stores counts for all jobs.
    """
    return dict(_of_code(modules))


@functools.cache
def _of_code(modules: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    versions = environment.versions(*modules, STORES)
    packages = hashlib.sha256(json.dumps(versions).encode()).hexdigest()
    code = digest.code(*modules)
    _modules[code], _environments[packages] = modules, versions
    return ("code", code), ("environment", packages)


def behind() -> dict[str, dict[str, Any]]:
    """Return what the digests in the specs made so far were computed from.

    For code: each module with its digest. For an environment: each package with its versions.
    Without the code of users' components that have been forgotten since.
    """
    here = {components.OURS, *components.packages()}
    modules = {
        code: of_code
        for code, of_code in _modules.items()
        if all(name.partition(".")[0] in here for name in of_code)
    }
    return {code: digest.contents(*names) for code, names in modules.items()} | _environments


def write(spec: Spec, folder: Path) -> Path:
    """Write the file of a spec that was made in this process, for its job; return where it is."""
    spec_files.write(folder, spec, _as_read(_modules[spec["code"]]))
    return spec_files.path(folder, spec)


@functools.cache
def _as_read(modules: tuple[str, ...]) -> dict[str, Any]:
    """Return the record with which jobs compare the code of modules; many jobs share one."""
    return spec_files.code(modules, digest.files(*modules))
