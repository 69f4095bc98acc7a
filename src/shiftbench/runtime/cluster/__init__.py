"""Runs the workflow on a Slurm cluster. No module that computes results imports this package."""
