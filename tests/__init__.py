"""shiftbench first: before anything imports NumPy (see _instructions.py)."""

import shiftbench  # noqa: F401
