"""Figures and tables over all studies of a config."""
