"""The folder of numba's compiled code: another one for each state of the sources.

numba compiles a function again when its file changes, but not when a function that it calls in
another file does. Hence the folder is named after a digest of all sources. Folders of older
sources stay until `make clean`, because another process may still use them.

Jobs that start together find the folder empty and compile at the same time. This is safe by
numba's core/caching.py, as of 0.68, and by three rules:

- A function has an index, from signatures to data files. Both are written to temporary files and
  renamed, so a reader never sees half a file; of two writers the last wins.
- A data file holds the machine code of a function and of all that it calls, so it does not matter
  which process wrote it. `guvectorize` is the exception: its wrapper is a separate file that calls
  the kernel by a name with a number of the compiling process, and crashes with another process's
  kernel. Rule: use `njit` and `cfunc` only.
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
from pathlib import Path

from shiftbench.core import instructions

FOLDERS = ("data", "methods")
"""Packages with compiled functions."""


def keep_by_source() -> None:
    """Set the folder of compiled code, whether numba has been imported yet or not.

    Call it after each choice of instructions.
    """
    package = Path(__file__).parents[1]
    files = sorted(file for folder in FOLDERS for file in (package / folder).rglob("*.py"))
    native = instructions.in_force() == "native"
    target = instructions.processor() if native else ""
    content = b"".join(file.read_bytes() for file in files) + target.encode()
    cache = str(package / "__pycache__" / f"compiled-{hashlib.sha256(content).hexdigest()[:16]}")
    os.environ["NUMBA_CACHE_DIR"] = cache
    if "numba" in sys.modules:  # as in a child of the fork server
        sys.modules["numba"].config.CACHE_DIR = cache
