"""Reader of text files that hold numbers and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.core.errors import UserError


def read(
    path: Path, shape: tuple[int, ...], delimiter: str | None = None, skip: int = 0
) -> np.ndarray:
    """The numbers of a file as an array of this shape; the first `skip` lines are left out.

    UserError where the file is missing, has other text, another shape or a gap (NaN).
    """
    try:
        values = np.loadtxt(path, delimiter=delimiter, skiprows=skip)
    except FileNotFoundError:
        raise UserError(
            f"Raw file {path} is missing. Run the workflow, or python -m shiftbench fetch."
        ) from None
    except ValueError as error:
        raise _wrong(path, str(error)) from None
    if values.shape != shape:
        raise _wrong(path, f"its numbers have the shape {values.shape}, not {shape}")
    if not np.isfinite(values).all():
        raise _wrong(path, "it has a gap (a value that is no finite number)")
    return values


def _wrong(path: Path, reason: str) -> UserError:
    return UserError(
        f"Raw file {path} is not what it should be: {reason}. Delete it and fetch it again."
    )
