"""Components of users that were edited between two calls, as in a notebook."""

from __future__ import annotations

from pathlib import Path

from shiftbench.config import components, digest, environment, specs

_seen: dict[Path, tuple[int, int]] = {}
"""Size and mtime of each file of users' components at the last call."""


def forget() -> None:
    """Forget all that was read of components if a file of a user's component has changed."""
    folders = [path for name, path in components.packages().items() if name != components.OURS]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    found = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}
    found = {path: state for path, state in found.items() if path.suffix in (".py", ".yaml")}
    if found != _seen:
        for module in (components, digest, environment, specs):
            for function in vars(module).values():
                if hasattr(function, "cache_clear"):
                    function.cache_clear()
    _seen.clear()
    _seen.update(found)
