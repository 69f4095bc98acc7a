"""Errors for packages of the optional extras, which a plain installation lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shiftbench.core.errors import UserError

NETWORKS = ("tensorflow", "tensorflow_probability", "tf_keras", "arviz")
"""Packages of the extra `networks`; those of `workflow` are all others."""


class MissingPackage(UserError, ImportError):
    """A package of an extra is not installed; the message says what needs it, and what to type.

    It is an ImportError for Python, and a UserError for the rest of this package.
    """


def missing(what: str, package: str, extra: str = "") -> MissingPackage:
    """Return the error for `what`, which needs a package of an extra.

    extra: the name of the extra; if empty, the extra of shiftbench that contains the package.
    """
    extra = extra or ("networks" if package in NETWORKS else "workflow")
    message = f"{what} needs the package {package}; type: pip install 'shiftbench[{extra}]'"
    return MissingPackage(message, name=package)


@contextmanager
def other_library(what: str, package: str) -> Iterator[None]:
    """Turn an ImportError inside into the error that `what` needs a package that is in no extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{what} needs {package}; type: pip install {package}"
        raise MissingPackage(message, name=error.name) from error


@contextmanager
def named(what: str) -> Iterator[None]:
    """Say that `what` needs a package, and what to type, where an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "shiftbench"):
            raise
        raise missing(what, package) from error
