"""Exact references and bounds that runs are compared with; nothing here learns."""
