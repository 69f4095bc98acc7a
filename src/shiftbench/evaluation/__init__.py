"""Scores of runs: metrics, statistics over seeds, the cube and the table of a study."""
