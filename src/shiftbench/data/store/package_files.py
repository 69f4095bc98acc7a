"""Files inside installed packages, for data that may be read but not copied for others.

A package is found by its metadata and never imported. So it can be installed without its
dependencies, which would change the locked versions. Its files are checked as all raw files are.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from dataclasses import dataclass
from importlib import metadata

from shiftbench.core.errors import UserError


@dataclass(frozen=True)
class PackageFile:
    """A file of a package on PyPI: sha256 (hexadecimal), size (bytes).

    version: a version that has this file; others may have it too.
    """

    package: str
    version: str
    path: str
    sha256: str
    size: int

    @property
    def address(self) -> str:
        """The page of the package, with the path in it."""
        return f"https://pypi.org/project/{self.package}/{self.version}/#{self.path}"

    @property
    def remedy(self) -> str:
        """The command that installs the package alone."""
        command = f"{sys.executable} -m pip install --no-deps {self.package}=={self.version}"
        return f"Install it: {command}"


def read(file: PackageFile) -> bytes:
    """Return the content of a file. UserError if it is missing or differs."""
    found = _content(file)
    if isinstance(found, str):
        raise UserError(f"{found}. {file.remedy}")
    return found


@functools.cache
def problem(file: PackageFile) -> str:
    """Return why a file cannot be read, empty if it can; the result is cached in the process."""
    found = _content(file)
    return found if isinstance(found, str) else ""


def _content(file: PackageFile) -> bytes | str:
    """Return the content of a file, or why it cannot be read."""
    try:
        package = metadata.distribution(file.package)
    except metadata.PackageNotFoundError:
        return f"the package {file.package} {file.version} is not installed"
    installed = f"the package {file.package} {package.version}"
    wanted = "" if package.version == file.version else f"; {file.version} has it"
    try:
        with open(str(package.locate_file(file.path)), "rb") as source:
            content = source.read()
    except OSError as error:
        return f"{installed} has no readable {file.path} ({error.strerror}){wanted}"
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        return (
            f"{installed} has another {file.path}: expected sha256 {file.sha256}, found"
            f" {found}{wanted}"
        )
    return content
