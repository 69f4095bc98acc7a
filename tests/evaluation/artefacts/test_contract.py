"""The contract over our metrics and artefacts."""

from shiftbench.contract.scores import *  # noqa: F403
