"""Speed against what a user would take instead: `python -m perf` prints one table.

`peers` is run by .venv-perf, which has no shiftbench; so nothing here or there imports it.
"""
