"""Pages and tables derived from published results."""
