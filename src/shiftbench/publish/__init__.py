"""What leaves results/CONFIG: copies that are committed, and what they are compared with."""
