"""Import shiftbench before anything imports NumPy (see core/instructions.py)."""

import shiftbench  # noqa: F401
