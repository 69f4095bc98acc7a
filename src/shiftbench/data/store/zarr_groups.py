"""The data sets of a store with groups, for readers that need only a few of them."""

from __future__ import annotations

from pathlib import Path

import xarray as xr
from zarr.storage import ZipStore

from shiftbench.data.store import zarr_zip


class Groups:
    """The data sets of a store, each opened when it is first asked for; arrays are read when used.

    UserError if the file is missing, truncated, damaged or no store.
    """

    def __init__(self, path: Path) -> None:
        with zarr_zip.opened(path):  # refuses what is not a whole store
            self._store = ZipStore(path, mode="r")
        self._opened: dict[str, xr.Dataset] = {}

    def __getitem__(self, group: str) -> xr.Dataset:
        """Return the data set of a group, without what its parents hold."""
        if group not in self._opened:
            dataset = xr.open_zarr(self._store, group=group, consolidated=False, chunks=None)
            texts = [name for name, array in dataset.variables.items() if array.dtype.kind in "OT"]
            # By way of objects: xarray cannot cast variable-width text to NumPy's strings.
            plain = dataset.assign(
                {name: dataset[name].astype(object).astype(str) for name in texts}
            )
            self._opened[group] = plain.drop_encoding()
        return self._opened[group]
