"""The library: everything that `import shiftbench as sb` offers, each name loaded on first use."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from shiftbench.core import extras

PUBLIC = {
    "method": "online_method",
    "changepoints": "changepoints",
    "stream": "streams",
    "stream_from": "streams",
    "run": "experiment",
    "compare": "experiment",
    "load": "published",
}
"""Every public name, and the module of this package that defines it."""


def offered(name: str) -> Any:
    """Return the object of a public name of `shiftbench`.

    AttributeError for any other name.

    MissingPackage where it needs an extra that is not installed.
    """
    if name == "__all__":
        return [*PUBLIC]
    if name not in PUBLIC:
        package = sys.modules["shiftbench"]
        message = f"module 'shiftbench' has no attribute '{name}'"
        raise AttributeError(message, name=name, obj=package)
    with extras.named(f"shiftbench.{name}"):
        return getattr(import_module(f"{__name__}.{PUBLIC[name]}"), name)
