"""The type that compiled learners of rows share, see `interface.CompiledRows`."""

from __future__ import annotations

from numba import types

ROW = types.float64[::1]
STEP = types.float64(ROW, ROW, ROW, ROW, ROW)
"""(numbers, inputs, targets, constants, scratch) -> log evidence; changes numbers, scratch."""
