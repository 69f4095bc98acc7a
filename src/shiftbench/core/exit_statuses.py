"""Exit statuses of the commands; 0 is success, and 128 + N is an end by signal N."""

DEFECT = 1
"""The command, or a job that it started, failed for a reason that it does not know."""
MISTAKE = 2
"""The user can correct the error, which one line describes."""
STOPPED = 75
"""A job saved its state and wants to be run again (EX_TEMPFAIL)."""
