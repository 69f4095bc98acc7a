"""Run the contract on the package's models."""

from shiftbench.contract.models import *  # noqa: F403
