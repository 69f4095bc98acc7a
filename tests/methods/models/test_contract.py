"""The contract over our models."""

from shiftbench.contract.models import *  # noqa: F403
