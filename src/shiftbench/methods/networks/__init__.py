"""Shared code of learners of networks: training, per-example gradients, draws of weights."""
