"""Reader of a folder of retinal photographs, graded as in the Kaggle competition of 2015.

trainLabels.csv has a line for each photograph: its name without ending, and its grade from 0
(healthy) to 4. Users have to accept the terms of the competition, so nothing is fetched and no
checksum is known in advance; the store keeps the checksum of the files that were read.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from shiftbench.core.errors import UserError
from shiftbench.data.images._pictures import resized
from shiftbench.data.store.raw import MIRROR

DATASET = "diabetic-retinopathy"
LABELS = "trainLabels.csv"
COLUMNS = ["image", "level"]
ENDINGS = (".jpeg", ".jpg", ".png")
GRADES = 5
DISEASED = 2
"""Grades from here on need a physician (farquhar2020radial, 4.1)."""


class Listed(NamedTuple):
    """Photographs of a folder: their files, and their grades [n]."""

    paths: list[Path]
    grade: np.ndarray


def listed(raw: Path, folder: str) -> Listed:
    """List the photographs that trainLabels.csv names, in its order.

    They lie in `folder` below `raw` or, if that has no trainLabels.csv, below the folder of the
    data set in a mirror on this machine. UserError, with what to put where, for a missing or wrong
    file.
    """
    place = _place(raw, folder)
    table = _labels(place / LABELS)
    files = sorted((place / folder).glob("*"))
    photographs = {path.stem: path for path in files if path.suffix.lower() in ENDINGS}
    names = table["image"].tolist()
    for name in [name for name in names if name not in photographs][:1]:
        raise UserError(
            f"{place / LABELS} names the photograph {name}, but {place / folder} has no"
            f" {name}{ENDINGS[0]} (or {', '.join(ENDINGS[1:])}). Put it there, or take its line"
            f" out of {LABELS}."
        )
    return Listed([photographs[name] for name in names], table["level"].to_numpy(np.uint8))


def pixels(paths: list[Path], size: int) -> np.ndarray:
    """Return the whole photographs, shrunk to squares, as [n, size, size, 3] uint8.

    UserError for a file that is not a picture.
    """
    pixels = np.empty((len(paths), size, size, 3), np.uint8)
    for target, path in zip(pixels, paths, strict=True):
        try:
            with Image.open(path) as picture:
                target[:] = resized(picture, size)
        except OSError as error:
            raise UserError(
                f"Photograph {path} cannot be read: {error}. Put an undamaged copy there, or take"
                f" its line out of {LABELS}."
            ) from None
    return pixels


def checksum(photographs: Listed) -> str:
    """Return the sha256 of the names, grades and files of photographs, in their order."""
    digest = hashlib.sha256()
    for path, grade in zip(photographs.paths, photographs.grade, strict=True):
        digest.update(f"{path.name},{grade}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _place(raw: Path, folder: str) -> Path:
    mirror = os.environ.get(MIRROR, "")
    places = [raw, Path(mirror).expanduser() / DATASET] if mirror else [raw]
    for place in places:
        if (place / LABELS).is_file():
            return place
    raise UserError(
        f"There is no {LABELS} in {' or '.join(map(str, places))}. Accept the terms at"
        f" https://www.kaggle.com/c/diabetic-retinopathy-detection, and put {LABELS} (columns"
        f" {','.join(COLUMNS)}) into {raw}, and the photographs into {raw / folder}."
    )


def _labels(path: Path) -> pd.DataFrame:
    """Read the columns image (text) and level (whole numbers) of the file."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise _wrong(path, str(error)) from None
    if table.columns.tolist() != COLUMNS:
        raise _wrong(path, f"its columns are {','.join(table.columns)}, not {','.join(COLUMNS)}")
    grades = [str(grade) for grade in range(GRADES)]
    for line in np.flatnonzero(~table["level"].isin(grades))[:1]:
        raise _wrong(path, f"line {line + 2}: the level {table['level'][line]!r} is not 0 to 4")
    for line in np.flatnonzero(table["image"].duplicated())[:1]:
        raise _wrong(path, f"line {line + 2} names {table['image'][line]} again")
    return table.astype({"level": int})


def _wrong(path: Path, reason: str) -> UserError:
    return UserError(f"{path} is not what it should be: {reason}. Put the official file there.")
