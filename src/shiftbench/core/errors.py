"""The error that users can correct; printed as one message, without a traceback."""


class UserError(Exception):
    """Something outside the code is wrong; the message says what, where, and what to do."""
