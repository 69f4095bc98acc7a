"""Learners and combinators, and their parts: posteriors, models, networks."""
