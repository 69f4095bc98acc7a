"""Components of users, which each call of `run` reads from their files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shiftbench.config import components, digest, environment, specs


@contextmanager
def of_this_call() -> Iterator[None]:
    """Remove, at the end of the block, the components that it added, with all that is cached.

    Their files may be edited before the next call, as in a notebook.
    """
    before = components.packages().keys()
    refused = True
    try:
        yield
        refused = False
    finally:
        added = components.packages().keys() - before
        for package in added:
            components.remove(package)
        if added or refused:  # a refused component was not added, but is cached
            _clear_caches()


def _clear_caches() -> None:
    for module in (components, digest, environment, specs):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
