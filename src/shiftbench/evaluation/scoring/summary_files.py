"""Read the files summary.csv: a row a stream, method and metric, with the mean over seeds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from shiftbench.evaluation.scoring import checked_tables
from shiftbench.evaluation.scoring.checked_tables import NUMBER, WHOLE
from shiftbench.evaluation.scoring.summarise import COLUMNS

KEY = ("stream", "learner", "metric")
NUMBERS = dict.fromkeys(("mean", "sd", "ci_low", "ci_high", "published"), NUMBER) | {"n": WHOLE}
WITHHELD = r"^withheld: (.*), less than .*$"
"""An older note, as "withheld: 0.01 of the paper's training, less than 0.05"; newer ones have what
the brackets match.
"""


def read(path: Path) -> pd.DataFrame:
    """Return the rows of a file summary.csv, of any age, with the notes as they are now.

    Numbers keep every digit of the file; an empty cell is NaN. UserError for a file that cannot be
    read, that is damaged, or that has a row twice.
    """
    table = checked_tables.read(path, "a summary of a study", COLUMNS, NUMBERS, key=KEY)
    notes = table["published_note"].str.replace(WITHHELD, r"\1", regex=True)
    return table.assign(published_note=notes)
