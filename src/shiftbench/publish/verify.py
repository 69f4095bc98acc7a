"""Compare two folders of results, number by number and file by file.

Each of our numbers is compared with the reference's:

    identical     the same bits
    rounding      apart by less than ROUNDING: other instructions, threads, GPUs
    interval      the mean lies in the reference's 95 % interval over seeds
    different     none of these, or its context (seeds, coverage, the paper's number) differs

A figure or table has the worst verdict of the numbers of its study, but is different if it differs
while all numbers are identical. A file that was changed after it was written is different.

Differences are relative to the larger of two numbers. Standard deviations and ends of intervals are
computed from larger numbers, so their differences are relative to the largest of mean and ends.
"""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shiftbench.config import result_paths
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import summary_files, tidy_files, units
from shiftbench.publish import result_files
from shiftbench.publish.results_folder import ResultsFolder

VERDICTS = ("identical", "rounding", "interval", "different")
"""From best to worst."""
ROUNDING = 1e-5
"""Relative difference: a hundred times the precision of 32 bits, in which networks learn."""
KEY = [*summary_files.KEY]
SPREADS = ["sd", "ci_low", "ci_high"]
FACTS = ["n", "published", "status"]


class ComparedItem(NamedTuple):
    """One number or file: its place in the study, ours, the reference's, and the verdict."""

    study: str
    place: str
    ours: str
    reference: str
    verdict: str


def compare(ours: Path, reference: Path) -> list[ComparedItem]:
    """Compare all studies that both folders have. Raises UserError without a common study."""
    if not ours.is_dir():
        raise UserError(f"{ours}: there is no such folder of results")
    if not reference.is_dir():
        raise UserError(
            f"{reference}: there are no such results to compare with; publish some, or name another"
            f" folder, as verify {ours} FOLDER"
        )
    of_reference = result_paths.finished(reference)
    common = [name for name in result_paths.finished(ours) if name in of_reference]
    if not common:
        raise UserError(
            f"{ours} and {reference} have no finished study in common; run the workflow, or name"
            " two folders of results, as results/CONFIG and results/published/CONFIG"
        )
    compared = [each for study in common for each in _of_study(ours, reference, study)]
    if all(result_files.OVERVIEW in result_files.parts(side) for side in (ours, reference)):
        of_studies = worst(compared)
        compared += _changed(ours, reference, result_files.OVERVIEW)
        compared += _files(ours, reference, result_files.OVERVIEW, of_studies)
    return compared


def worst(compared: list[ComparedItem]) -> str:
    """Return the worst verdict."""
    return max((each.verdict for each in compared), key=VERDICTS.index, default=VERDICTS[0])


def lines(compared: list[ComparedItem], ours: Path, reference: Path) -> list[str]:
    """Return one line per study: its worst verdict, the counts of verdicts, and known reasons."""
    studies = list(dict.fromkeys(each.study for each in compared))
    width = max(map(len, studies), default=0)
    return [
        f"{study:{width}}  {worst(own):9}  {_counted(own)}{_reason(study, ours, reference)}"
        for study in studies
        for own in [[each for each in compared if each.study == study]]
    ]


def table(compared: list[ComparedItem]) -> str:
    """Return all that is not identical, as a table in Markdown; empty if everything is."""
    rows = [each for each in compared if each.verdict != "identical"]
    if not rows:
        return ""
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


@contextmanager
def at_revision(folder: Path, revision: str) -> Iterator[Path]:
    """Yield a temporary copy of the folder as of a git revision.

    Raises UserError if git does not have it, or if it is not below the working directory.
    """
    place = _from_here(folder)
    command = ["git", "archive", revision, "--", str(place)]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise UserError(
            f"{folder}: not in revision {revision} ({' '.join(reason)}); name another revision"
        )
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(scratch, filter="data")
        yield Path(scratch) / place


def _from_here(folder: Path) -> Path:
    """Return a folder relative to the working directory, as in git's archives."""
    here = Path.cwd()
    for path in (Path(os.path.abspath(folder)), folder.resolve()):
        if path.is_relative_to(here):
            return path.relative_to(here)
    raise UserError(
        f"{folder}: not below the working directory {here}, where --revision looks for it; change"
        " to the top folder of the checkout that has it, and start again"
    )


def _of_study(ours: Path, reference: Path, study: str) -> Iterator[ComparedItem]:
    yield from _changed(ours, reference, study)
    numbers = of_numbers(ours, reference, study)
    yield from numbers
    yield from _files(ours, reference, study, worst(numbers))


def of_numbers(ours: Path, reference: Path, study: str) -> list[ComparedItem]:
    """Compare the summaries of a study. Raises UserError if a file is not a summary."""
    summaries = [
        summary_files.read(result_files.study_folder(side, study) / result_paths.SUMMARY).set_index(
            KEY
        )
        for side in (ours, reference)
    ]
    return list(_numbers(study, *summaries))


def of_scores(ours: Path, reference: Path) -> str:
    """Return the worst verdict on the scores of all seeds in two tables, rows in any order.

    Raises UserError if the reference is no such table.
    """
    mine, theirs = (_scores(path) for path in (ours, reference))
    if not mine.index.equals(theirs.index):
        return "different"
    pairs = zip(mine, theirs, strict=True)
    return max((of_pair(*pair) for pair in pairs), key=VERDICTS.index, default=VERDICTS[0])


def _scores(path: Path) -> pd.Series:
    """Return the scores by all other columns of a table, sorted."""
    rows = tidy_files.read(path)
    others = [name for name in rows.columns if name != "score"]
    return rows.set_index(others)["score"].sort_index()


def _changed(ours: Path, reference: Path, study: str) -> Iterator[ComparedItem]:
    for side in (ours, reference):
        for path in ResultsFolder(side).changed(study):
            yield ComparedItem(study, str(path), "changed after it was made", "", "different")


def _files(ours: Path, reference: Path, study: str, of_numbers: str) -> Iterator[ComparedItem]:
    """Compare every file but the summary. of_numbers: their worst verdict."""
    mine, theirs = result_files.of_study(ours, study), result_files.of_study(reference, study)
    for name in sorted((mine.keys() | theirs.keys()) - {result_paths.SUMMARY}):
        verdict = _of_files(mine.get(name), theirs.get(name), of_numbers)
        yield ComparedItem(study, name, *_present(name, mine, theirs), verdict)


def _numbers(study: str, ours: pd.DataFrame, reference: pd.DataFrame) -> Iterator[ComparedItem]:
    for key in ours.index.union(reference.index, sort=False):
        place = "/".join(map(str, key))
        if key not in ours.index or key not in reference.index:
            yield ComparedItem(
                study, place, *_present(key, ours.index, reference.index), "different"
            )
        else:
            mine, theirs = ours.loc[key], reference.loc[key]
            yield ComparedItem(
                study, place, _row_text(mine), _row_text(theirs), _of_rows(mine, theirs)
            )


def _present(key: Any, ours: Container, reference: Container) -> tuple[str, str]:
    """Say in words, for both sides, whether they have a key."""
    mine, theirs = ("there" if key in side else "missing" for side in (ours, reference))
    return mine, theirs


def _of_rows(ours: pd.Series, reference: pd.Series) -> str:
    """Return the verdict on one row of a summary."""
    if not ours[FACTS].equals(reference[FACTS]):
        return "different"
    of_mean = of_pair(ours["mean"], reference["mean"])
    scale = _scale(ours, reference)
    of_spreads = [of_pair(ours[name], reference[name], scale) for name in SPREADS]
    both = max([of_mean, *of_spreads], key=VERDICTS.index)
    if both != "different":
        return both
    inside = reference["ci_low"] <= ours["mean"] <= reference["ci_high"]
    return "interval" if of_mean != "identical" and inside else "different"


def _scale(*rows: pd.Series) -> float:
    """Return the largest size of the means and ends of rows of a summary."""
    numbers = [abs(float(row[name])) for row in rows for name in ("mean", "ci_low", "ci_high")]
    return max(filter(math.isfinite, numbers), default=0.0)


def of_pair(ours: float, reference: float, scale: float = 0.0) -> str:
    """Return the verdict on two numbers: identical, rounding or different.

    scale: size of the numbers that they were computed from, if those are larger.
    """
    if ours == reference or (pd.isna(ours) and pd.isna(reference)):
        return "identical"
    floor = max(ROUNDING * scale, units.ROUNDING)
    close = math.isclose(ours, reference, rel_tol=ROUNDING, abs_tol=floor)
    return "rounding" if close else "different"


def _of_files(ours: Path | None, reference: Path | None, of_numbers: str) -> str:
    """Return the verdict on a file. of_numbers: the worst verdict on the study's numbers."""
    if ours is None or reference is None:
        return "different"
    if ours.read_bytes() == reference.read_bytes():
        return "identical"
    if ours.suffix == ".json":
        return "rounding" if _best_settings(ours) == _best_settings(reference) else "different"
    return "different" if of_numbers == "identical" else of_numbers


def _best_settings(path: Path) -> dict:
    """Return the settings that won the trials; their scores are compared with the trials."""
    return json.loads(path.read_text(encoding="utf-8"))["settings"]


def _row_text(row: pd.Series) -> str:
    ends = units.ends(row["ci_low"], row["ci_high"], "{:.6g}".format)
    return " ".join(filter(None, [f"{row['mean']:.9g}", ends, f"n={row['n']}"]))


def _reason(study: str, ours: Path, reference: Path) -> str:
    """Return the words on instructions and GPUs, if those of the two sides differ."""
    reason = ""
    mine, theirs = (
        " and ".join(ResultsFolder(side).instructions(study)) for side in (ours, reference)
    )
    if mine and theirs and mine != theirs:
        reason += f"; ours with {mine} instructions, the reference with {theirs} ones"
    mine, theirs = (_gpus(side, study) for side in (ours, reference))
    if mine != theirs:
        reason += f"; ours on {mine}, the reference on {theirs}: other devices give other bytes"
    return reason


def _gpus(results: Path, study: str) -> str:
    return " and ".join(ResultsFolder(results).gpus(study).get("gpus", ["processors alone"]))


def _counted(compared: list[ComparedItem]) -> str:
    counts = {name: sum(each.verdict == name for each in compared) for name in VERDICTS}
    words = [f"{number} {name}" for name, number in counts.items() if number]
    return f"of {len(compared)} numbers and files {', '.join(words)}"
