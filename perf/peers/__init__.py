"""The other side of each comparison, in .venv-perf: `make perf-peers`."""
