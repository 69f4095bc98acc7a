"""Compares the costs that `shiftbench plan` forecasts with measured costs.

    python -m perf.forecast results/embedded [results/cpu ...] [--before OTHER/results/cpu]
    python -m perf.forecast results/embedded --published config/cpu.yaml

Each study with runs is estimated without records, from all other studies, from its own other runs,
and, with --before, from an earlier run of the same config. --published estimates whole studies of
another config, which were published with their core-hours, from these runs. Numbers are processor
times of runs and warm-ups, relative to the measured ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from shiftbench.config import config_file as configs
from shiftbench.core import instructions
from shiftbench.forecast import plan, records, render
from shiftbench.forecast.estimate import Estimator
from shiftbench.forecast.records import Record

MOST = 200
"""The maximal number of runs of a study that are left out one by one."""
Estimators = Callable[[Record], Estimator]


def predicted(those: list[Record], known: Estimators) -> float:
    """Return the forecast processor seconds of some runs, each by its own estimator."""
    return sum(known(one).of_record(one).cpu for one in those)


def ways(known: list[Record], study: str, before: list[Record]) -> dict[str, Estimators]:
    """Return the estimators for the runs of a study, by the records they use."""
    machine = instructions.processor()
    others = Estimator([one for one in known if one.study != study], machine)
    nothing, earlier = Estimator([], machine), Estimator(before, machine)
    found: dict[str, Estimators] = {"nothing": lambda _: nothing, "others": lambda _: others}
    if len([one for one in known if one.study == study]) <= MOST:
        found["other runs"] = lambda left: Estimator([x for x in known if x is not left], machine)
    if before:
        found["before"] = lambda _: earlier
    return found


def of_published(path: Path, known: list[Record]) -> Iterator[tuple[str, str, str]]:
    """Yield the studies of a published config, with core-hours and the share that is forecast."""
    config = configs.load(path)
    found = plan.whole(config, Estimator(known, instructions.processor()))
    totals = [0.0, 0.0]
    for study, seconds in found.items():
        runs = len(config.studies[study].streams) * len(config.studies[study].methods)
        runs *= len(config.blocks(study))
        if took := plan.published(path.stem, study, runs):
            totals = [totals[0] + took, totals[1] + seconds]
            yield study, render.hours(took), f"{seconds / took:.2f}"
    yield "in all", render.hours(totals[0]), f"{totals[1] / totals[0]:.2f}"


def main() -> None:
    """Print a row per study: its cost, and each estimate relative to it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--before", type=Path, nargs="*", default=[])
    parser.add_argument("--published", type=Path)
    options = parser.parse_args()
    known, before = records.collect(options.results), records.collect(options.before)
    if options.published:
        rows = list(of_published(options.published, known))
        print(*render.table([("study", "published core-hours", "predicted"), *rows]), sep="\n")
        return
    names = ["nothing", "others", "other runs", *(["before"] if before else [])]
    rows = [("study", "runs", "core-hours", *names)]
    totals = dict.fromkeys(names, 0.0)
    for study in dict.fromkeys(one.study for one in known):
        those = [one for one in known if one.study == study]
        took = sum(one.cpu for one in those)
        sums = {name: predicted(those, way) for name, way in ways(known, study, before).items()}
        totals = {name: totals[name] + sums.get(name, took) for name in names}
        shares = [f"{sums[name] / took:.2f}" if name in sums else "" for name in names]
        rows.append((study, f"{len(those):,}", render.hours(took), *shares))
    took = sum(one.cpu for one in known)
    shares = [f"{totals[name] / took:.2f}" for name in names]
    rows.append(("in all", f"{len(known):,}", render.hours(took), *shares))
    print(*render.table(rows), sep="\n")


if __name__ == "__main__":
    main()
