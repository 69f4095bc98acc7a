"""Build the stores of streams that need no raw file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def builder(family: ModuleType) -> Callable[..., Any]:
    """Return a function from the settings of a family of streams to its store."""

    def build(**settings: Any) -> Any:
        return family.build(family.Settings(**settings), Path("unused"))

    return build
