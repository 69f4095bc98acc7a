"""Our side of each comparison, through public entry points; on the instructions that jobs have."""

import shiftbench  # noqa: F401  (before NumPy, see shiftbench/core/instructions.py)
from shiftbench.core import instructions

# Portable, unless the driver wants to compare with native ones.
instructions.choose(instructions.wanted() or "portable")
