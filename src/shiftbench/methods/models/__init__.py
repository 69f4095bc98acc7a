"""Networks with a likelihood, as pure functions of a flat parameter vector; one file a model."""
