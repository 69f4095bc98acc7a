"""Our side of each comparison, through public entry points, with the instructions of jobs."""

import shiftbench  # noqa: F401  (before NumPy, see shiftbench/core/instructions.py)
from shiftbench.core import instructions

# Portable, unless the driver compares with native ones.
instructions.choose(instructions.wanted() or "portable")
