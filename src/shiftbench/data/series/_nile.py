"""Annual flow of the Nile at Aswan, 1871 to 1970, in 10^8 m^3.

The numbers are in code, not in a data file, so that a run is repeated if one of them changes.
Source: G. W. Cobb, 1978, Biometrika 65; J. Durbin and S. J. Koopman, 2001. The accepted
change is that of 1898, when work on the dam began: 1898 is the last year of high flow, so
the new segment starts in 1899 (so do three of five annotators in TCPD; two see no change).
"""

from __future__ import annotations

import numpy as np

from shiftbench.data.series._series_store import Series

FIRST_YEAR = 1871
NEW_SEGMENT = 1899 - FIRST_YEAR

FLOW = (
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020,
    960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840,
    874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702,
    1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801,
    1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815,
    1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
)  # fmt: skip


def read() -> Series:
    """Return the hundred flows of the Nile, with the accepted change."""
    value = np.array(FLOW, float)[None, :, None]
    years = FIRST_YEAR + np.arange(value.shape[1])
    return Series(
        value,
        time=years,
        names=["Aswan"],
        units="1e8 m3",
        truth="accepted",
        changes=[NEW_SEGMENT],
    )
