"""Streams of rows of tables."""
