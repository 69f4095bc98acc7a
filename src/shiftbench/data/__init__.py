"""Stream families, one file each: from raw data to a store, and from a store to tasks.

A family is found by the name of its file. Files whose names start with an underscore are helpers.
"""
