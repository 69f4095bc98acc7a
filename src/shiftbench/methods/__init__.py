"""Learners, combinators and what they are made of: posteriors, models, networks."""
