"""What learners of networks share: training, per-example gradients, draws of weights."""
