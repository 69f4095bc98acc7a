"""Run the contract on the declarations of the package's components."""

from shiftbench.contract.declarations import *  # noqa: F403
