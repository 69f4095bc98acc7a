"""What runs on texts say of words: trajectories, dates, held-out text."""
