"""Writes rows.csv: y depends on two features, and how it does so changes at rows 100 and 200."""

from __future__ import annotations

import csv
import random
from pathlib import Path

WEIGHTS = ((2.0, -1.0), (-1.0, 1.0), (1.0, 3.0))
SEGMENT = 100

draw = random.Random(0)
with (Path(__file__).parent / "rows.csv").open("w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["x1", "x2", "y"])
    for row in range(SEGMENT * len(WEIGHTS)):
        x1, x2 = draw.gauss(0, 1), draw.gauss(0, 1)
        w1, w2 = WEIGHTS[row // SEGMENT]
        y = w1 * x1 + w2 * x2 + draw.gauss(0, 0.3)
        writer.writerow([f"{value:.4f}" for value in (x1, x2, y)])
