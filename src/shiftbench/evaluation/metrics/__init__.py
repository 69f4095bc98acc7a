"""Metrics, one file each; files with a leading underscore are shared parts."""
