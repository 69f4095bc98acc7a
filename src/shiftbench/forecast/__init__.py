"""Forecasts of a workflow: which jobs would run, why, and what they would cost."""
