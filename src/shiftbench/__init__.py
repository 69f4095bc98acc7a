"""Reproducible benchmarks of Bayesian learning under distribution shift."""

from shiftbench._compiled import keep_by_source

__version__ = "0.1.0"

keep_by_source()
