"""Corrupted user files are refused or give finite numbers."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from shiftbench.config import components, user_files
from shiftbench.core.errors import UserError
from tests.fuzzing import Tally, cases, generator

CASES = cases(400)
ROWS = 12
SERIES = "day,a,b\n" + "".join(
    f"2020-01-{day + 1:02d},{day % 5}.5,{day * day}\n" for day in range(ROWS)
)
SERIES_JSON = json.dumps(
    {
        "name": "s",
        "time": {"raw": list(range(ROWS))},
        "series": [{"label": "a", "raw": [float(day % 5) for day in range(ROWS)]}],
    }
)
TABLE = "day,target,x,y\n" + "".join(
    f"2020-01-{day + 1:02d},{day % 3}.25,{day % 4},{7 - day}\n" for day in range(ROWS)
)
WORDS = "the choir sang a song and the sailor left the harbour " * 20
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "series.csv": ("series-file", {"time": "day", "columns": ["a", "b"]}),
    "series.json": ("series-file", {}),
    "table.csv": ("table-file", {"target": "target", "time": "day"}),
    "images": ("image-file", {"realisations": 1}),
    "images.npz": ("image-file", {"realisations": 1}),
    "moved.npz": ("transformed-image-file", {"realisations": 1, "tasks": 2, "train_per_task": 4}),
    "texts": ("text-files", {"vocabulary_size": 0}),
}
"""A file or folder of each kind: the family of streams that reads it, and the settings."""


def read(name: str) -> str | None:
    """Check a file and build its stream as the workflow would; return what is wrong with it."""
    family, given = FAMILIES[name]
    settings = {"path": name} | given
    for _, message in user_files.issues(settings, "path", Path()):
        raise UserError(message)
    module = components.load("streams", family)
    checked = components.configured("streams", family, settings)
    module.look(checked, Path(name))
    store = module.build(checked, Path(name))
    n_tasks = module.problem(store).n_tasks
    for t in (0, n_tasks - 1):
        module.task(store, [0], t)
    for part in store.subtree if isinstance(store, xr.DataTree) else [store]:
        for key, values in part.data_vars.items():
            if values.dtype.kind == "f" and np.isinf(values.values).any():
                return f"{key} is infinite"
            if values.dtype.kind == "f" and key == "value" and np.isnan(values.values).any():
                return f"{key} has values that are no numbers"
    return None


def picture(form: str = "PNG", shift: int = 0, **more: Any) -> bytes:
    levels = (np.arange(64).reshape(8, 8) * 3 + shift).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(levels).save(file, form, **more)
    return file.getvalue()


def arrays(**changed: Any) -> bytes:
    levels = np.stack([np.full((8, 8), 20 * number, np.uint8) for number in range(ROWS)])
    file = io.BytesIO()
    np.savez(file, **{"images": levels, "labels": np.arange(ROWS) % 2} | changed)
    return file.getvalue()


def write(name: str) -> list[Path]:
    """Write a valid file or folder; return the files to corrupt."""
    place = Path(name)
    shutil.rmtree(place, ignore_errors=True)
    place.unlink(missing_ok=True)
    texts = {"series.csv": SERIES, "series.json": SERIES_JSON, "table.csv": TABLE}
    if name in texts:
        place.write_text(texts[name])
    elif name == "images":
        for label in ("cat", "dog"):
            (place / label).mkdir(parents=True)
            for number in range(8):
                form = "JPEG" if number % 2 else "PNG"
                file = place / label / f"{number}.{form.lower()}"
                file.write_bytes(picture(form, number))
    elif name == "texts":
        place.mkdir()
        for year in (2000, 2001, 2002):
            for number in range(3):
                (place / f"{year}-{number:02d}x.txt").write_text(f"{WORDS}{year} {number}\n")
    else:
        place.write_bytes(arrays())
    return user_files.files(place)


def corrupt(content: bytes, random: random.Random) -> bytes:
    """Return the bytes with one to three faults."""
    made = bytearray(content)
    for _ in range(random.randint(1, 3)):
        first = random.randrange(len(made) + 1)
        last = min(len(made), first + random.choice([1, 1, 2, 8, 64]))
        match random.randrange(6):
            case 0:
                made[first:last] = bytes(random.randrange(256) for _ in range(last - first))
            case 1:
                del made[first:last]
            case 2:
                made[first:first] = made[first:last]
            case 3:
                made[first:last] = random.choice([b"\0", b"\n", b",", b'"', b"-", b"e999", b"\xff"])
            case 4:
                del made[first:]
            case _:
                made += random.choice([b"\n", b"\n\n", b"\0" * 9, content, b"nan\n", b",,,\n"])
    return bytes(made)


NUMBERS = ("nan", "inf", "-inf", "1e309", "1e308", "-1e308", "5e-324", "", "?", "1,5", "0x10",
           "1_0", "٣", "1e", "--1", "True", "1;2", "9" * 400,
           "x" * 100_000, '"', "\0", "1 2")  # fmt: skip
REFUSED: dict[str, Callable[[str], bytes]] = {
    "empty": lambda _: b"",
    "only the header": lambda text: text.splitlines()[0].encode(),
    "blank lines": lambda _: b"\n\n\n\n",
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-32": lambda text: text.encode("utf-32"),
    "zeros": lambda _: b"\0" * 1000,
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "tabs": lambda text: text.replace(",", "\t").encode(),
    "a column twice": lambda text: text.replace(",b\n", ",a\n").replace(",x,", ",y,").encode(),
    "without a cell": lambda text: text.replace(".5,0\n", ".5\n").replace("5,0,7", "5").encode(),
    "with one cell more": lambda text: text.replace("2020-01-03", "2020-01-03,1").encode(),
    "time backwards": lambda text: text.replace("2020-01-04", "2019-01-03").encode(),
    "a time that does not exist": lambda text: text.replace("2020-01-04", "2020-02-31").encode(),
    "a quote that does not end": lambda text: text.replace("2020-01-03", '"2020-01-03').encode(),
    "gzip": lambda text: zlib.compress(text.encode()),
    "JSON": lambda _: b'{"a": 1}',
    "not a table": lambda _: bytes(range(256)) * 40,
    "the same lines": lambda text: (text.splitlines()[1] * 12).encode(),
}  # fmt: skip
"""Faults after which no stream can read a CSV."""
JSONS = (
    "", "{", "[]", "1", "null", '{"series": []}', '{"series": 1}', '{"series": [{}]}',
    '{"series": [{"label": "a", "raw": [1, 2]}]}', '{"series": [{"label": "a", "raw": 5}]}',
    '{"series": [{"label": "a", "raw": [1, "x", 3, 4]}]}', '{"series": {"a": [1]}}',
    '{"series": [{"label": "a", "raw": [1, [2], 3, 4]}]}', '{"series": [null]}',
    '{"series": [{"label": "a", "raw": [1, 2, 1e999, 4]}]}',
    '{"series": [{"label": "a", "raw": [1, 2, NaN, 4]}]}',
    '{"series": [{"label": "a", "raw": [1, 2, 3, 4]}, {"label": "a", "raw": [1, 2, 3, 4]}]}',
    '{"series": [{"label": "a", "raw": [1, 2, 3, 4]}, {"label": "b", "raw": [1]}]}',
    '{"time": {"raw": [1]}, "series": [{"label": "a", "raw": [1, 2, 3, 4]}]}',
    '{"time": 5, "series": [{"label": "a", "raw": [1, 2, 3, 4]}]}',
    '{"time": {"raw": [1, 1, 1, 1]}, "series": [{"label": "a", "raw": [1, 2, 3, 4]}]}',
    "[" * 100_000, '{"a":' * 10_000,
    '{"series": [{"label": "a", "raw": [' + "9" * 5000 + ", 1, 2]}]}",
    '{"series": [{"label": "a", "raw": [1, 2, true, 4]}]}',
)  # fmt: skip


def bomb() -> bytes:
    """Return a small zip file that claims to contain 20 GB of zeros."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("images.npy", b"\0" * 1000)
        packed.writestr("labels.npy", b"\0" * 1000)
    content = bytearray(file.getvalue())
    start = content.index(b"PK\x01\x02")
    content[start + 24 : start + 28] = struct.pack("<I", 2**32 - 2)
    return bytes(content)


def large_picture() -> bytes:
    """Return a PNG of 60,000 x 60,000 pixels in a hundred bytes."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"\0" * 100)
    chunks = [
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in (header, data, b"IEND")
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


IMAGES: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no image": lambda: b"GIF89a",
    "half": lambda: picture()[:48],
    "half a JPEG": lambda: picture("JPEG")[:200],
    "a bomb": large_picture,
    "another size": lambda: _small(),
    "a page": lambda: b"<html></html>",
    "two frames": lambda: picture("TIFF", save_all=True, append_images=[Image.new("L", (8, 8))]),
}
ARRAYS: dict[str, Callable[[], bytes]] = {
    "a bomb": bomb,
    "objects": lambda: arrays(labels=np.array([{}] * ROWS, object)),
    "no labels": lambda: arrays(labels=np.zeros(0)),
    "too few labels": lambda: arrays(labels=np.zeros(3, int)),
    "labels of no type": lambda: arrays(labels=np.full(ROWS, 1j)),
    "labels that are no numbers": lambda: arrays(labels=np.full(ROWS, np.nan)),
    "levels that are no numbers": lambda: arrays(images=np.full((ROWS, 8, 8), np.nan)),
    "infinite levels": lambda: arrays(images=np.full((ROWS, 8, 8), np.inf)),
    "one dimension": lambda: arrays(images=np.zeros(ROWS, np.uint8)),
    "five dimensions": lambda: arrays(images=np.zeros((ROWS, 2, 2, 1, 1), np.uint8)),
    "no pixels": lambda: arrays(images=np.zeros((ROWS, 0, 0), np.uint8)),
    "times": lambda: arrays(images=np.zeros((ROWS, 8, 8), "datetime64[s]")),
    "texts": lambda: arrays(images=np.full((ROWS, 8, 8), "a")),
    "one class": lambda: arrays(labels=np.zeros(ROWS, int)),
    "not packed": lambda: b"\x93NUMPY" + bytes(200),
    "empty": lambda: b"",
}


def _small() -> bytes:
    file = io.BytesIO()
    Image.new("L", (3, 5)).save(file, "PNG")
    return file.getvalue()


def _special(place: Path) -> dict[str, Callable[[], object]]:
    """Return functions that replace a file or folder by something else."""
    return {
        "a pipe": lambda: os.mkfifo(place),
        "a link to itself": lambda: place.symlink_to(place.name),
        "a link to nothing": lambda: place.symlink_to("nothing"),
        "a device": lambda: place.symlink_to("/dev/zero"),
        "a folder": place.mkdir,
        "a folder of folders": lambda: (place / "a" / "b").mkdir(parents=True),
        "a folder in a circle": lambda: (place.mkdir(), (place / "a").symlink_to("..")),
        "nothing": lambda: None,
    }


def _faults(tally: Tally) -> None:
    """Try the faults of tables, each of which must be refused."""

    def refused(case: str, name: str, change: Callable[[list[Path]], object]) -> None:
        change(write(name))
        tally.attempt(f"{name}, {case}", lambda: read(name) or "it is accepted")

    for name, text in (("series.csv", SERIES), ("table.csv", TABLE)):
        for case, made in REFUSED.items():
            refused(
                case, name, lambda files, made=made, text=text: files[0].write_bytes(made(text))
            )
        for number in NUMBERS:
            broken = text.replace(",4.5,", f",{number},").replace(",2.25,", f",{number},")
            write(name)[0].write_text(broken)
            tally.attempt(f"{name}, {number!r:.40}", lambda name=name: read(name))
        write(name)[0].write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        tally.attempt(f"{name} as a spreadsheet writes it", lambda name=name: read(name))
    for text in JSONS:
        refused(f"{text:.60}", "series.json", lambda files, text=text: files[0].write_text(text))
    for case, content in IMAGES.items():
        refused(case, "images", lambda files, content=content: files[0].write_bytes(content()))
    for case, content in ARRAYS.items():
        for name in ("images.npz", "moved.npz"):
            if (case, name) != ("one class", "moved.npz"):
                refused(case, name, lambda files, c=content: files[0].write_bytes(c()))
    for case, content in {
        "utf-16": WORDS.encode("utf-16"),
        "zeros": bytes(99),
        "empty": b"",
    }.items():
        refused(case, "texts", lambda files, content=content: files[0].write_bytes(content))
    for name in FAMILIES:
        for case in _special(Path(name)):

            def change(files: list[Path], name: str = name, case: str = case) -> None:
                shutil.rmtree(name) if Path(name).is_dir() else Path(name).unlink()
                _special(Path(name))[case]()

            refused(case, name, change)
            Path(name).unlink(missing_ok=True) if not Path(name).is_dir() else None


@pytest.mark.long
def test_files_of_users_broken_by_chance(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in FAMILIES:
        write(name)
        assert read(name) is None
    tally, random = Tally("files of users"), generator("files")
    _faults(tally)
    names = list(FAMILIES)
    for number in range(max(0, CASES - tally.tried)):
        name = names[number % len(names)]
        file = random.choice(write(name))
        content = corrupt(file.read_bytes(), random)
        file.write_bytes(content)
        tally.attempt(f"{file}, {content[:300]!r}", lambda name=name: read(name))
    tally.report()
