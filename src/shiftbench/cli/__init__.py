"""The commands that users type, and the jobs that the rules of the workflow start."""
