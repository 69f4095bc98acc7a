"""Shared code of online learners: loops over rows, linear scores and their losses."""
