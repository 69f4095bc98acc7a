"""Whether two folders of results say the same: number by number, and file by file.

A number of ours is compared with the reference's:

    identical     the same bits
    rounding      apart by less than ROUNDING of its size: other instructions, threads, GPUs
    interval      the mean lies in the reference's 95 % interval over seeds
    different     none of these, or what it stands for (seeds, coverage, the paper's number) differs

A figure or a table that differs though all numbers of its study are identical was not drawn from
them; else it has the verdict of its numbers. What was changed after it was made is different
whatever it says.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shiftbench.core.errors import UserError
from shiftbench.publish import files

VERDICTS = ("identical", "rounding", "interval", "different")
"""From best to worst."""
ROUNDING = 1e-5
"""Of a number's size: a hundred times the last digit of 32 bits, in which networks learn."""
KEY = ["stream", "learner", "metric"]
SPREADS = ["sd", "ci_low", "ci_high"]
FACTS = ["n", "published", "status"]


class Finding(NamedTuple):
    """One number or file: its place in the study, ours and the reference's, the verdict."""

    study: str
    place: str
    ours: str
    reference: str
    verdict: str


def compare(ours: Path, reference: Path) -> list[Finding]:
    """What is found in each study that both folders have.

    UserError where they have none in common.
    """
    common = [name for name in files.studies(ours) if name in files.studies(reference)]
    if not common:
        raise UserError(
            f"{ours} and {reference} have no finished study in common; run the workflow, or name"
            " two folders of results, as results/CONFIG and results/published/CONFIG"
        )
    found = [found for study in common for found in _of_study(ours, reference, study)]
    if all(files.OVERVIEW in files.parts(side) for side in (ours, reference)):
        found += _of_overview(ours, reference, worst(found))
    return found


def worst(findings: list[Finding]) -> str:
    """The worst verdict."""
    return max((found.verdict for found in findings), key=VERDICTS.index, default=VERDICTS[0])


def lines(findings: list[Finding], ours: Path, reference: Path) -> list[str]:
    """One line a study: its worst verdict, how many numbers and files have which, and why."""
    studies = list(dict.fromkeys(found.study for found in findings))
    width = max(map(len, studies), default=0)
    return [
        f"{study:{width}}  {worst(own):9}  {_counted(own)}{_reason(study, ours, reference)}"
        for study in studies
        for own in [[found for found in findings if found.study == study]]
    ]


def table(findings: list[Finding]) -> str:
    """What is not identical, one row each; empty if all is."""
    rows = [found for found in findings if found.verdict != "identical"]
    if not rows:
        return ""
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


@contextmanager
def at_revision(folder: Path, revision: str) -> Iterator[Path]:
    """The folder as it was committed in a git revision, in a place of its own.

    UserError where git does not know it.
    """
    command = ["git", "archive", revision, "--", str(folder)]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise UserError(f"{folder} cannot be had of revision {revision}: {' '.join(reason)}")
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(scratch, filter="data")
        yield Path(scratch) / folder


def _of_study(ours: Path, reference: Path, study: str) -> Iterator[Finding]:
    yield from _changed(ours, reference, study)
    numbers = of_numbers(ours, reference, study)
    yield from numbers
    yield from _files(ours, reference, study, worst(numbers))


def of_numbers(ours: Path, reference: Path, study: str) -> list[Finding]:
    """What is found in the summaries of a study. UserError where one is no summary."""
    summaries = [files.place(side, study) / "summary.csv" for side in (ours, reference)]
    return list(_numbers(study, *map(_summary, summaries)))


def _of_overview(ours: Path, reference: Path, of_studies: str) -> Iterator[Finding]:
    """What is found in what is made of all studies, given the worst that was found in them."""
    yield from _changed(ours, reference, files.OVERVIEW)
    yield from _files(ours, reference, files.OVERVIEW, of_studies)


def _changed(ours: Path, reference: Path, study: str) -> Iterator[Finding]:
    for side in (ours, reference):
        for path in files.changed(side, study):
            yield Finding(study, str(path), "changed after it was made", "", "different")


def _files(ours: Path, reference: Path, study: str, of_numbers: str) -> Iterator[Finding]:
    """Every file but the summary, given the worst of the numbers behind them."""
    mine, theirs = files.of_study(ours, study), files.of_study(reference, study)
    for name in sorted((mine.keys() | theirs.keys()) - {"summary.csv"}):
        verdict = _of_files(mine.get(name), theirs.get(name), of_numbers)
        yield Finding(study, name, *_present(name, mine, theirs), verdict)


def _summary(path: Path) -> pd.DataFrame:
    try:
        # As text first: pandas may read a last digit otherwise than it was written.
        rows = pd.read_csv(path, dtype=str, keep_default_na=False).set_index(KEY)
        numbers = rows[["mean", *SPREADS]].map(lambda text: float(text or "nan"))
        return numbers.join(rows[FACTS])
    except (KeyError, ValueError) as error:
        raise UserError(f"{path}: not a summary of this workflow ({error})") from None


def _numbers(study: str, ours: pd.DataFrame, reference: pd.DataFrame) -> Iterator[Finding]:
    for key in ours.index.union(reference.index, sort=False):
        place = "/".join(map(str, key))
        if key not in ours.index or key not in reference.index:
            yield Finding(study, place, *_present(key, ours.index, reference.index), "different")
        else:
            mine, theirs = ours.loc[key], reference.loc[key]
            yield Finding(study, place, _said(mine), _said(theirs), _of_rows(mine, theirs))


def _present(key: Any, ours: Container, reference: Container) -> tuple[str, str]:
    """Words for which of the two has something."""
    mine, theirs = ("there" if key in side else "missing" for side in (ours, reference))
    return mine, theirs


def _of_rows(ours: pd.Series, reference: pd.Series) -> str:
    """The verdict on one row of a summary."""
    if not ours[FACTS].equals(reference[FACTS]):
        return "different"
    of_mean = _of_numbers(ours["mean"], reference["mean"])
    of_spreads = [_of_numbers(ours[name], reference[name]) for name in SPREADS]
    both = max([of_mean, *of_spreads], key=VERDICTS.index)
    if both != "different":
        return both
    inside = reference["ci_low"] <= ours["mean"] <= reference["ci_high"]
    return "interval" if of_mean != "identical" and inside else "different"


def _of_numbers(ours: float, reference: float) -> str:
    """identical, rounding or different."""
    if ours == reference or (pd.isna(ours) and pd.isna(reference)):
        return "identical"
    close = abs(ours - reference) <= ROUNDING * max(abs(ours), abs(reference))
    return "rounding" if close else "different"


def _of_files(ours: Path | None, reference: Path | None, of_numbers: str) -> str:
    """The verdict on a file, given the worst of the study's numbers."""
    if ours is None or reference is None:
        return "different"
    if ours.read_bytes() == reference.read_bytes():
        return "identical"
    if ours.suffix == ".json":
        return "rounding" if _chosen(ours) == _chosen(reference) else "different"
    return "different" if of_numbers == "identical" else of_numbers


def _chosen(path: Path) -> dict:
    """The settings that won; how far ahead they were is the trials' matter."""
    return json.loads(path.read_text(encoding="utf-8"))["settings"]


def _said(row: pd.Series) -> str:
    return f"{row['mean']:.9g} [{row['ci_low']:.6g}, {row['ci_high']:.6g}] n={row['n']}"


def _reason(study: str, ours: Path, reference: Path) -> str:
    """Words about instructions and GPUs, where those of the two differ."""
    words = ""
    mine, theirs = (" and ".join(files.instructions(side, study)) for side in (ours, reference))
    if mine and theirs and mine != theirs:
        words += f"; ours with {mine} instructions, the reference with {theirs} ones"
    mine, theirs = (_gpus(side, study) for side in (ours, reference))
    if mine != theirs:
        words += f"; ours on {mine}, the reference on {theirs}: no two kinds give equal bytes"
    return words


def _gpus(results: Path, study: str) -> str:
    return " and ".join(files.gpus(results, study).get("gpus", ["processors alone"]))


def _counted(findings: list[Finding]) -> str:
    counts = {name: sum(f.verdict == name for f in findings) for name in VERDICTS}
    words = [f"{number} {name}" for name, number in counts.items() if number]
    return f"of {len(findings)} numbers and files {', '.join(words)}"
