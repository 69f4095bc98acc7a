"""Combinators, one file each: functions that make a learner from a learner."""
