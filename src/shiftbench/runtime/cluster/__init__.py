"""Running the workflow on a Slurm cluster; imported by nothing that computes."""
