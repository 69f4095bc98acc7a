"""Learning methods, one file a method, and nothing else."""
