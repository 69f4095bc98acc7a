"""The contract over our learners and combinators."""

from shiftbench.contract.learners import *  # noqa: F403
