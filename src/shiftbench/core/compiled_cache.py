"""The user's folder in which numba keeps compiled code, so that it compiles once per machine.

numba asks `Locator` for the folder of each function (see `shiftbench/__init__.py`). It lies in
$XDG_CACHE_HOME/shiftbench, else in ~/.cache/shiftbench, for all checkouts and environments of a
user. Where that cannot be written, it lies in the __pycache__ of the package, else in the folder
of temporary files. `make clean` removes the first two.

numba compiles a function again when its file changes, but not when a function that it calls in
another file does. Hence the folder is named after a digest of all files with compiled functions, of
the versions of what compiles, and of the processor where its native instructions are used. Rule:
compiled code takes functions and constants only from such files. Folders of older sources stay,
because another process may still use them.

Jobs that start together find the folder empty and compile at the same time. This is safe by
numba's core/caching.py, as of 0.68, and by three rules:

- A function has an index, from signatures to data files. Both are written to temporary files and
  renamed, so a reader never sees half a file; of two writers the last wins.
- A data file holds the machine code of a function and of all that it calls, so it does not matter
  which process of which checkout wrote it. `guvectorize` is the exception: its wrapper is a
  separate file that calls the kernel by a name with a number of the compiling process, and crashes
  with another process's kernel. Rule: use `njit` and `cfunc` only.
- Two processes that add different signatures to an index may both take the next data file, and
  then one reads the code of the other. Rule: call a function with one signature only. Make arrays
  contiguous and writable first, and pass np.int64(0) for the literal 0, which numba compiles
  separately.
- The index distinguishes processors as it distinguishes signatures. Rule: one folder for portable
  instructions, and one for each processor whose native instructions are used.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.caching import UserProvidedCacheLocator

from shiftbench.core import cache_folder, instructions
from shiftbench.core.checkout import PACKAGE

FOLDERS = ("data", "evaluation", "methods")
"""Packages with compiled functions."""


class Locator(UserProvidedCacheLocator):
    """Names the folder of a function: the same one for the same file of any checkout.

    Compiled code of a user's components has a folder of its own, because it may call our code.
    """

    def __init__(self, py_func: Callable, py_file: str, root: Path) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        folder = Path(py_file).resolve().parent
        ours = folder.is_relative_to(PACKAGE)
        own = folder.relative_to(PACKAGE) if ours else self.get_suitable_cache_subpath(py_file)
        self._cache_path = str(root / own)

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> Locator | None:
        """Return a locator in the first folder that can be written; None if there is none."""
        for folder in folders() if Path(py_file).exists() else ():
            locator = cls(py_func, py_file, folder / _name(instructions.in_force()))
            if _can_be_used(folder) and locator._is_writable():
                return locator
        return None

    def _is_writable(self) -> bool:
        try:
            self.ensure_cache_path()
        except OSError:
            return False
        return True


def folders() -> list[Path]:
    """Return the folders that may hold compiled code, in the order in which they are tried."""
    own = Path(cache_folder.usual(), "shiftbench")
    return [own, PACKAGE / "__pycache__", Path(cache_folder.temporary())]


def _can_be_used(folder: Path) -> bool:
    """Return whether a folder is there, or can be made, in which only this user puts code."""
    try:
        if folder.is_absolute():  # it is relative if there is no home folder
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder.stat().st_uid == os.getuid()
    except OSError:
        return False


@cache
def _name(kind: str) -> str:
    """Return the name of the folder for these sources, versions and instructions."""
    intel = getattr(numba.config, "USING_SVML", False)  # with SVML, exp and log differ
    versions = (numba.__version__, llvmlite.__version__, np.__version__, intel)
    processor = instructions.processor() if kind == "native" else ""
    digest = hashlib.sha256(repr((sys.version, versions, processor)).encode())
    for file in sources():
        content = file.read_bytes()
        digest.update(f"\n{file.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    return f"compiled-{digest.hexdigest()[:16]}"


def sources() -> list[Path]:
    """Return the files with compiled functions."""
    files = (file for folder in FOLDERS for file in (PACKAGE / folder).rglob("*.py"))
    return sorted(file for file in files if b"from numba import" in file.read_bytes())
