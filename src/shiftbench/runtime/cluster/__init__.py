"""Running of the workflow on a Slurm cluster; no module that computes imports it."""
