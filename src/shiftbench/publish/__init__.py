"""Publish results: committed copies, crates, uploads, pages, and comparisons of results."""
