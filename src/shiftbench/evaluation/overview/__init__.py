"""What is made of all studies of a config together."""
