"""What the command line can do: the jobs of the rules, and what people ask for."""
