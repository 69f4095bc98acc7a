"""Speed compared with what a user would take instead: `python -m perf` prints one table.

.venv-perf runs `peers` and has no shiftbench, so neither this file nor `peers` may import it.
"""
