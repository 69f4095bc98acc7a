"""The contract over what our components declare."""

from shiftbench.contract.declarations import *  # noqa: F403
