"""The arrays that source data keep: those that may be redistributed and that artefacts need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np
import xarray as xr

Groups = Mapping[str, xr.Dataset]
"""Data sets by their path, as /runs/STREAM/METHOD."""

RUNS, STREAMS = "runs", "streams"
LARGEST_OF_STREAM = 200_000
"""Bytes of the largest array of a stream that is kept: there is no room for all images."""
LARGE = 1_000_000
"""Bytes, over all runs, of an array that is kept only if an artefact needs it."""
TARGETS = "_target"
"""End of the names of arrays in which a run repeats the data."""


def allowed(groups: Groups, closed: Collection[str]) -> dict[str, xr.Dataset]:
    """Return the groups without the large arrays of streams, and without data that are not open.

    closed: streams whose data have no known open licence. Of these only arrays of truth values
    stay, such as the shifts.
    """
    return {path: _allowed(path, content, closed) for path, content in groups.items()}


def needed(groups: Groups, suffice: Callable[[Groups], bool]) -> dict[str, xr.Dataset]:
    """Return the groups without the large arrays of runs that no artefact needs.

    suffice: returns whether all artefacts come out the same from given groups.
    """
    kept, sizes = dict(groups), Counter[str]()
    for path in filter(_is_run, groups):
        sizes.update({str(name): array.nbytes for name, array in groups[path].items()})
    for name in (name for name, size in sizes.most_common() if size > LARGE):
        fewer = {
            path: _without(content, [name]) if _is_run(path) else content
            for path, content in kept.items()
        }
        if suffice(fewer):
            kept = fewer
    return kept


def _allowed(path: str, content: xr.Dataset, closed: Collection[str]) -> xr.Dataset:
    kind, _, rest = path.strip("/").partition("/")
    is_closed = rest.partition("/")[0] in closed
    if kind == RUNS and is_closed:
        return _without(content, [name for name in content if str(name).endswith(TARGETS)])
    if kind != STREAMS:
        return content
    large = [name for name, array in content.items() if array.nbytes > LARGEST_OF_STREAM]
    secret = [name for name, array in content.items() if is_closed and array.dtype != bool]
    return _without(content, [*large, *secret])


def _is_run(path: str) -> bool:
    return path.startswith(f"/{RUNS}/")


def _without(content: xr.Dataset, names: Iterable[object]) -> xr.Dataset:
    """Return a data set without some arrays, with the sizes of all its dimensions."""
    kept = content.drop_vars(names, errors="ignore")
    lost = {name: np.arange(size) for name, size in content.sizes.items() if name not in kept.sizes}
    return kept.assign_coords(lost)
