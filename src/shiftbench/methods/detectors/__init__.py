"""Detectors of a change in a signal that has one number a row, such as a learner's errors."""
