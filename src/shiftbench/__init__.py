"""Reproducible benchmarks of Bayesian learning under distribution shift."""

import os
from typing import Any

from shiftbench.core import instructions

__version__ = "0.2.0"

# Before anything numerical is imported, in this process or in one that it starts.
instructions.choose("portable")
for _name, _value in {
    "TF_USE_LEGACY_KERAS": "1",  # tensorflow-probability needs Keras 2
    "TF_CPP_MIN_LOG_LEVEL": "3",  # else every job complains that there is no GPU
    "TF_ENABLE_ONEDNN_OPTS": "1",  # else off on AMD: convolutions take a third longer
    "NUMBA_CACHE_LOCATOR_CLASSES": "shiftbench.core.compiled_cache.Locator",
}.items():
    os.environ.setdefault(_name, _value)


# By import_module, which the digest of code does not follow: no result depends on the library.
def __getattr__(name: str) -> Any:
    """Load a name of the library on first use: `shiftbench/api` has the table of names."""
    from importlib import import_module

    return import_module("shiftbench.api").offered(name)


def __dir__() -> list[str]:
    """Return the names of the library, for completion in notebooks."""
    return [*__getattr__("__all__"), "__version__"]
