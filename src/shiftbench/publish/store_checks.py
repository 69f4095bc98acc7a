"""Stores of a crate, checked before their arrays are read: a few bytes can claim any size.

Only what zarr_zip writes is accepted: members that are not compressed, arrays of numbers or text in
regular chunks, each chunk one frame of zstd that says its size.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftbench.core.errors import UserError
from shiftbench.core.plain_text import printable
from shiftbench.data.store import zarr_zip
from shiftbench.publish.crate_files import DEFAULT, RAISE, Limits
from shiftbench.publish.store_metadata import METADATA

NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
"""Name of a member: no folder above, no absolute path, no escape."""
NUMBERS = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)")
TEXT = "string"
FRAME = b"\x28\xb5\x2f\xfd"
"""The first bytes of a frame of zstd."""
LARGEST_HEAD = 18
"""Bytes of the longest head of a frame."""


def decoded_size(path: Path, limits: Limits = DEFAULT) -> int:
    """Return the bytes of the arrays of a store.

    UserError if it is not a store that zarr_zip writes, or larger than the limits.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive)
            nodes = {
                name.removesuffix(METADATA).rstrip("/"): json.loads(archive.read(name))
                for name in members
                if name.rpartition("/")[2] == METADATA
            }
            if nodes.get("", {}).get("node_type") != "group":
                raise ValueError("it has no group at its top")
            total = sum(_size(archive, members, *node, limits) for node in nodes.items())
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise _refusal(path, error) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _refusal(path, error) from None
    if total > limits.decoded:
        raise UserError(
            f"{path}: its arrays would take {total:,} bytes, more than {limits.decoded:,}; {RAISE}"
        )
    return total


def read(path: Path, limits: Limits = DEFAULT) -> xr.Dataset | xr.DataTree:
    """Return the data set or the tree of a store of a crate. UserError if it is damaged."""
    decoded_size(path, limits)
    try:
        return zarr_zip.read_any(path)
    except UserError:
        raise
    except Exception as error:  # of many types, for inconsistent metadata
        raise _refusal(path, error) from None


def read_run(path: Path, limits: Limits = DEFAULT) -> xr.Dataset:
    """Return the data set of a run of a crate. UserError if it is damaged, or a tree."""
    store = read(path, limits)
    if not isinstance(store, xr.Dataset):
        raise UserError(f"{path}: has groups, as no run has; get the crate again")
    return store


def _refusal(path: Path, error: Exception) -> UserError:
    reason = printable(f"{type(error).__name__}: {error}"[:300])
    return UserError(f"{path}: not a sound store of shiftbench ({reason}); get the crate again")


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name. ValueError for one that zarr_zip would not write."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        if not NAME.fullmatch(member.filename):
            raise ValueError(f"the member {member.filename!r} has a strange name")
        if member.filename in members:
            raise ValueError(f"the member {member.filename} is there twice")
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ValueError(f"the member {member.filename} is compressed or encrypted")
        if member.file_size != member.compress_size:
            raise ValueError(f"the member {member.filename} has two sizes")
        members[member.filename] = member
    if sum(member.file_size for member in members.values()) > path.stat().st_size:
        raise ValueError("its members overlap")
    return members


def _size(
    archive: zipfile.ZipFile,
    members: dict[str, zipfile.ZipInfo],
    name: str,
    node: dict[str, Any],
    limits: Limits,
) -> int:
    """Return the bytes of an array, 0 for a group. ValueError unless it is as zarr_zip has it."""
    if node["node_type"] == "group":
        return 0
    shape, chunk = node["shape"], node["chunk_grid"]["configuration"]["chunk_shape"]
    kind = node["data_type"]
    sizes = [*shape, *chunk]
    if len(shape) != len(chunk) or not all(type(size) is int and size >= 0 for size in sizes):
        raise ValueError(f"the array {name} has no shape")
    is_text = kind == TEXT
    if not (is_text or NUMBERS.fullmatch(kind)):
        raise ValueError(f"the array {name} has the type {kind!r}")
    codecs = [codec["name"] for codec in node["codecs"]]
    if codecs != ["vlen-utf8" if is_text else "bytes", "zstd"] or node.get("storage_transformers"):
        raise ValueError(f"the array {name} is encoded by {codecs}")
    width = 8 if is_text else np.dtype(kind).itemsize
    size, of_chunk = math.prod(shape) * width, math.prod(chunk) * width
    frames = {
        key: _frame_size(_head(archive, members[key]))
        for key in members
        if key == f"{name}/c" or key.startswith(f"{name}/c/")
    }
    if of_chunk > limits.decoded:
        raise ValueError(f"the array {name} has chunks of {of_chunk:,} bytes")
    if not is_text and any(frame != of_chunk for frame in frames.values()):
        raise ValueError(f"the array {name} has chunks of another size than it says")
    return max(size, sum(frames.values()))


def _head(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as content:
        return content.read(LARGEST_HEAD)


def _frame_size(head: bytes) -> int:
    """Return the size that a frame of zstd says it has, decompressed (RFC 8878, 3.1.1.1).

    ValueError for anything else, and for a frame that does not say it.
    """
    if head[:4] != FRAME or len(head) < 6:
        raise ValueError("a chunk is not a frame of zstd")
    descriptor = head[4]
    single, flag, dictionary = descriptor >> 5 & 1, descriptor >> 6, (0, 1, 2, 4)[descriptor & 3]
    width = (single, 2, 4, 8)[flag]
    start = 5 + (not single) + dictionary
    if width == 0 or len(head) < start + width:
        raise ValueError("a frame of zstd does not say its size")
    return int.from_bytes(head[start : start + width], "little") + (256 if flag == 1 else 0)
