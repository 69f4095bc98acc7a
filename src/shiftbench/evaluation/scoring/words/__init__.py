"""Evaluation of runs on texts: trajectories of word vectors, dating, held-out text."""
