"""Selection of the package whose components are tested: this one or a user's."""

from __future__ import annotations

from shiftbench.config import components

_packages = [components.OURS]


def choose(package: str) -> None:
    """Tries the components of this package, in modules of the contract that are imported later."""
    _packages[:] = [package]


def names(kind: str) -> list[str]:
    """The components of a kind that are tried."""
    return list(components.files(kind, _packages[0]))
