"""The error for wrong arguments of the library."""

from __future__ import annotations

from shiftbench.core.errors import UserError


class InputError(UserError, ValueError):
    """A wrong argument: the message says what is wrong and what to do.

    It is a ValueError for Python, and a UserError for the rest of this package.
    """
