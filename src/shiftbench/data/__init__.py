"""Streams, one file a family: raw data to a stream store, and a store to tasks.

Found by file name. Files that start with an underscore are shared helpers.
"""
