"""The static site of a folder of results: pages that open from disk, without a network."""
