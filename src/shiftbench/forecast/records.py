"""Records of what earlier runs cost, beside their stores and in published tables.

Each run has its cost in NAME.cost.json beside its store, and its spec in the store. Published
studies have a row for each run in `costs.csv`, with the work of the run instead of its spec.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import result_paths, spec_files
from shiftbench.forecast import cost_model

TABLE = "costs.csv"

KINDS = (result_paths.RUNS, result_paths.WARM_UPS)


class Record(NamedTuple):
    """The cost of one run or warm-up.

    pipeline: names of its components, the model last; for a warm-up see `pipeline`. alike: a digest
    of everything but the number of seeds that decides its cost. work: see cost_model.py. cpu, wall:
    seconds; memory: peak, in bytes. machine: kind of processor and instructions.
    """

    study: str
    stream: str
    method: str
    pipeline: str
    alike: str
    work: float
    cpu: float
    wall: float
    memory: int
    machine: str


FIELDS = Record._fields


def collect(results: Iterable[Path]) -> list[Record]:
    """Return the records of folders of results and of published ones, where they can be read."""
    found: list[Record] = []
    for folder in results:
        found += of_files(
            path for kind in KINDS for path in folder.glob(f"{kind}/**/*{result_paths.COST}")
        )
        for table in sorted(folder.glob(f"{result_paths.STUDIES}/*/{TABLE}")):
            found += of_table(table)
    return found


def of_files(costs: Iterable[Path]) -> list[Record]:
    """Return the records of runs and warm-ups, by the files with their costs."""
    return [one for path in sorted(costs) for one in _of(path)]


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a table of records, as it is published."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        table.writerows(sorted(records))


def of_spec(spec: Mapping[str, Any], cost: Mapping[str, Any]) -> Record:
    """Return the record of a run or a warm-up with this spec."""
    return Record(
        spec["study"],
        spec["stream"]["name"],
        spec.get("method") or spec["name"],
        pipeline(spec),
        alike(spec),
        amount(spec),
        cost["cpu_seconds"],
        cost["wall_seconds"],
        cost["peak_memory_bytes"],
        f"{cost.get('processor', '')}, {cost.get('instructions', 'native')}",
    )


def pipeline(spec: Mapping[str, Any]) -> str:
    """Return the names of a run's components and model, and its device if that is a GPU.

    A warm-up has `warm-up` and the component that does it.
    """
    parts = [name for name, _ in spec.get("learner", ())]
    if "component" in spec:
        parts = ["warm-up", spec["component"][1]]
    where = " on a gpu" if spec.get("device") == "gpu" else ""
    return "/".join([*parts, spec["model"][0] if spec["model"] else "none"]) + where


def alike(spec: Mapping[str, Any]) -> str:
    """Return a short text that is equal for runs that differ only in seeds, and so in cost."""
    source, learner = spec["stream"], spec.get("learner") or spec.get("component")
    places = spec["instructions"], spec.get("device")
    return cost_model.fingerprint(
        [source["family"], source["settings"], learner, spec["model"], *places]
    )


def amount(spec: Mapping[str, Any]) -> float:
    """Return the work of a run or of a warm-up."""
    return (
        cost_model.of_warm_up(dict(spec)) if "component" in spec else cost_model.of_run(dict(spec))
    )


def _of(path: Path) -> Iterator[Record]:
    """Yield the record of a finished run; nothing if its store is missing or old."""
    store = path.with_name(path.name.removesuffix(result_paths.COST) + result_paths.STORE)
    try:
        yield of_spec(_spec(store), json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        return


def _spec(store: Path) -> dict[str, Any]:
    """Return the spec in the attributes of a store, of which nothing else is read."""
    with zipfile.ZipFile(store) as archive:
        return spec_files.parsed(json.loads(archive.read("zarr.json"))["attributes"]["spec"])


def of_table(table: Path) -> Iterator[Record]:
    """Yield the records of a published table, up to the first that cannot be read."""
    try:
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                numbers = {"work": float, "cpu": float, "wall": float, "memory": int}
                yield Record(*(numbers.get(name, str)(row[name]) for name in FIELDS))
    except (OSError, ValueError, KeyError):
        return
