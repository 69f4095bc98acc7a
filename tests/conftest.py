"""Shared by all tests: what shiftbench sets for TensorFlow holds before a test imports it."""

import shiftbench  # noqa: F401
