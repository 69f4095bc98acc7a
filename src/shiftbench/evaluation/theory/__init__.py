"""Exact references and theoretical bounds that runs are compared with."""
