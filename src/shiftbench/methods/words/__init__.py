"""Vectors of words from counts: contexts, co-occurrences, the fit of one word."""
