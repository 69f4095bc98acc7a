"""Speed against what a user would take instead; on the instructions that jobs have."""

import shiftbench  # noqa: F401  (before NumPy, see shiftbench/core/instructions.py)
