"""Run the contract on the package's metrics and artefacts."""

from shiftbench.contract.scores import *  # noqa: F403
