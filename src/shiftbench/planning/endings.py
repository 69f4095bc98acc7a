"""Endings of names that tuning makes, for whoever has to know them and not how it is planned."""

TRIALS = "-tuning"
"""Of studies and streams of trials."""
TUNED = "-tuned"
"""Of variants with the settings of the best trial."""
