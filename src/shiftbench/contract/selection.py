"""Selection of the components that are tested: all of this package, or some of a user's."""

from __future__ import annotations

from collections.abc import Collection

from shiftbench.config import components

UNTRIED = "not tried: "
"""The start of a reason for a skipped test that `shiftbench test` prints."""

_package = components.OURS
_chosen: set[tuple[str, str]] | None = None
"""Kind and name of each component; None for all."""


def choose(package: str, chosen: Collection[tuple[str, str]]) -> None:
    """Try these components of a package, in modules of the contract that are imported later."""
    global _package, _chosen
    _package, _chosen = package, set(chosen)


def names(kind: str) -> list[str]:
    """The components of a kind that are tried."""
    found = components.files(kind, _package)
    return [name for name in found if _chosen is None or (kind, name) in _chosen]
