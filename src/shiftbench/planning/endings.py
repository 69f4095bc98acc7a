"""The ending of names that tuning makes, for whoever has to know it and not how it is planned."""

TRIALS = "-tuning"
"""Of studies and streams of trials."""
