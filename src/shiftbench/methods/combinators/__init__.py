"""Functions from a learner to a learner, one file a combinator."""
