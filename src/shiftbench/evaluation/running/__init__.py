"""Runs a learner on a stream: the order of the protocol, progress, cost."""
