"""Scores of studies: summaries, comparisons over seeds, and the numbers that papers print."""
