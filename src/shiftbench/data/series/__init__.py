"""Streams of time series."""
