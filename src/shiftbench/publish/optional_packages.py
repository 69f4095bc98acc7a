"""Import packages that only uploading needs."""

from __future__ import annotations

import importlib
from types import ModuleType

from shiftbench.core import extras


def load(module: str) -> ModuleType:
    """Return a module of a package of the extra `publish`. Raises UserError if it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise extras.missing("this command", package, "publish") from None
