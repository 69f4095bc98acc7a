"""Reader of raw text files of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.data.store import raw as raw_files


def read(
    path: Path, shape: tuple[int, ...], delimiter: str | None = None, skip: int = 0
) -> np.ndarray:
    """Read the numbers of a file as an array of this shape; the first `skip` lines are left out.

    UserError if the file is missing, or has other text, another shape or a gap (NaN).
    """
    try:
        values = np.loadtxt(path, delimiter=delimiter, skiprows=skip)
    except FileNotFoundError:
        raise raw_files.missing(path) from None
    except ValueError as error:
        raise raw_files.wrong(path, str(error)) from None
    if values.shape != shape:
        raise raw_files.wrong(path, f"its numbers have the shape {values.shape}, not {shape}")
    if not np.isfinite(values).all():
        raise raw_files.wrong(path, "it has a gap (a value that is not a finite number)")
    return values
