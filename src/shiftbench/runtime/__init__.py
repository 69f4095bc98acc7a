"""Processes, signals, locks and Slurm."""
