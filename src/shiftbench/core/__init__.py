"""Interface, seeds, errors and other foundations that every package may import."""
