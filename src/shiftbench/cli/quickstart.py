"""The command `quickstart`: a small project with a series, and a config that finds its changes.

The series is an illustration from a formula. docs/quickstart.png is the figure of this project:

    shiftbench quickstart
    shiftbench run quickstart/quickstart.yaml
    cp results/quickstart/studies/changes/figures/changepoints.png docs/quickstart.png
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from shiftbench.config import result_paths
from shiftbench.core import atomic_files, checkout
from shiftbench.core.errors import UserError

DAYS = 400
FIRST_DAY = "2024-01-01"
LEVELS = {0: 50.0, 150: 56.0, 290: 47.0}
"""The level from each day on; the noise has a standard deviation of NOISE."""
NOISE = 2.0
OUTLIERS = {80: 30.0, 220: -30.0}
"""Additions to single days, far larger than the noise."""

CONFIG = """\
# For a series of your own, change the file and the name of its column of time.
studies:
  changes:
    title: When does the level of the series change?
    streams: {illustration: {family: series-file, path: series.csv, time: date}}
    methods: [robust-bocpd, bocpd]
    metrics: [n_changepoints, interval_coverage]
    artefacts: [changepoints, changepoint-dates]
    seeds: 1
"""


def quickstart(options: argparse.Namespace) -> None:
    """Write a small project: a series with two changes and two outliers, and its config."""
    series, config = write(options.folder)
    print(f"Wrote {series} and {config}")
    print(f"Next: shiftbench run {shlex.quote(str(config))}")


def write(folder: Path) -> list[Path]:
    """Write the series and the config, which is named after the folder; its results will be too.

    Returns their paths. Raises UserError if one of the files exists, or if the results are not
    free for a user's config.
    """
    name = re.sub(r"[^\w.-]+", "-", folder.resolve().name, flags=re.ASCII)  # as a config's name
    name = re.sub(r"^[^A-Za-z0-9]+", "", name)[:100] or "series"
    if name in {result_paths.PUBLISHED, *(path.stem for path in checkout.CONFIGS.glob("*.yaml"))}:
        taken = f"results/{name} belongs to a config of shiftbench itself"
        raise UserError(f"{folder}: {taken}; name another folder, such as my-{name}")
    texts = {folder / "series.csv": series(), folder / f"{name}.yaml": CONFIG}
    for path in texts:
        if path.exists():
            raise UserError(f"{path} exists and is left as it is; name another folder")
    try:
        for path, text in texts.items():
            atomic_files.write(path, text)
    except OSError:  # or else the next call would find one of them
        for path in texts:
            path.unlink(missing_ok=True)
        raise
    return list(texts)


def series() -> str:
    """Return a CSV of dates and values: levels, normal noise and the outliers."""
    import numpy as np  # not at the top: most commands do not need it

    from shiftbench.core import seeds

    day = np.arange(DAYS)
    starts = np.array(list(LEVELS))
    level = np.array(list(LEVELS.values()))[np.searchsorted(starts, day, side="right") - 1]
    value = level + NOISE * seeds.generator(seeds.fold("quickstart")).standard_normal(DAYS)
    for place, size in OUTLIERS.items():
        value[place] += size
    dates = np.datetime64(FIRST_DAY) + day
    return "date,value\n" + "".join(f"{a},{b:.1f}\n" for a, b in zip(dates, value, strict=True))
