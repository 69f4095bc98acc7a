"""Posterior families, one file a family: densities, broadening, divergence, fits, start values."""
