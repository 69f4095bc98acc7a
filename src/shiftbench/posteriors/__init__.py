"""Posterior families, one file a family: broadening, divergence, start values."""
