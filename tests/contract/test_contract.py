"""Run the contract on the package's learners and combinators."""

from shiftbench.contract.learners import *  # noqa: F403
