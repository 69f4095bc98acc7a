"""The other side of each comparison, run by .venv-perf: `make perf-peers`."""
