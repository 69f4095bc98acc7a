"""Commands of people, and the jobs of the workflow's rules."""
