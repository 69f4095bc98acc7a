"""Series of the package aeon, joined from parts of different shape, so that changes are known.

Source: aeon 1.6.0, `load_electric_devices_segmentation` and `load_gun_point_segmentation`; from the
UCR archive. A line is the number of a value and the value. The mean and the variance hardly change.
"""

from __future__ import annotations

from typing import NamedTuple

TIME, VALUE = "1", "2"
"""Columns by number, since the files have no names for them."""


class Joined(NamedTuple):
    """A file, and the first values of its new segments, from 0."""

    file: str
    changes: tuple[int, ...]


SERIES = {
    "aeon-electric-devices": Joined("ElectricDevices.csv", (1090, 4436, 5712, 7923)),
    "aeon-gun-point": Joined("GunPoint.csv", (900,)),
}
