"""Reproducible benchmarks of Bayesian learning under distribution shift."""

__version__ = "0.1.0"
