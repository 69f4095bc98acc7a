"""Where numba keeps what it has compiled: a folder for each state of the sources.

numba looks only at the file of a function for whether it has changed, and not at functions
that it calls in other files, so that a change of those would go unnoticed. Folders of sources
that are gone stay until `make clean`: another process may still use them.

Jobs that start together find the folder empty and compile side by side. That this is safe
rests on numba's core/caching.py, as of 0.68, and on three rules that go with it:

- A function has an index, from signatures to data files. Both are written elsewhere and then
  renamed, so that a reader finds a whole one; where two write the same, the last one stays.
- A data file holds the machine code with all that it calls, and the names in it, so that it
  does not matter whose it is. Not so with `guvectorize`, whose wrapper is kept apart and calls
  its kernel by a name with a number of the process that compiled it: wrapper and kernel of two
  processes jump to nowhere. So: `njit` and `cfunc` alone.
- Two processes that add different signatures to an index may both take the next data file,
  and one finds the code of the other in it. So: one signature a function. Arrays are made
  contiguous and writable before, and a literal that an argument starts with is np.int64(0),
  as numba compiles for the literal 0 apart.
- Processors are told apart in the index as signatures are. So: a folder for portable
  instructions, and one for each processor whose native ones are used.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from shiftbench.core import instructions

FOLDERS = ("data", "methods")
"""Those that hold compiled functions."""


def keep_by_source() -> None:
    """Tells numba where to keep compiled code, whether it has been imported yet or not.

    To be called after each choice of instructions.
    """
    package = Path(__file__).parents[1]
    files = sorted(file for folder in FOLDERS for file in (package / folder).rglob("*.py"))
    native = instructions.in_force() == "native"
    target = instructions.processor() if native else ""
    content = b"".join(file.read_bytes() for file in files) + target.encode()
    cache = str(package / "__pycache__" / f"compiled-{hashlib.sha256(content).hexdigest()[:16]}")
    os.environ["NUMBA_CACHE_DIR"] = cache
    if "numba" in sys.modules:  # as in the child of a warm server
        sys.modules["numba"].config.CACHE_DIR = cache
