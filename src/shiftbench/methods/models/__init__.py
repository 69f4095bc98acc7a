"""Likelihoods as pure functions of a flat parameter vector, one file a model."""
