"""Errors that a user can mend: printed as one message, without a traceback."""


class UserError(Exception):
    """Something outside the code is wrong; the message names the place and the remedy."""
