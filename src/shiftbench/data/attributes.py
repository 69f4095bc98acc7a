"""Attributes of the variables of stream stores."""

from __future__ import annotations


def about(long_name: str, units: str = "1") -> dict[str, str]:
    """Return the attributes that every variable of a store has."""
    return {"long_name": long_name, "units": units}
