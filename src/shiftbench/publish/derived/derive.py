"""Derive all committed files that need no training, and compare them with the committed ones.

In order of dependence: tables and papers' numbers of published studies, and figures of those with
source data; ledger, ranks and costs; the config reference and schema; the sentences and tables of
pages.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from shiftbench.config import claims, config_file, json_schema, reference, specs
from shiftbench.config.library import OURS, Library
from shiftbench.config.result_paths import ALL_PUBLISHED, STUDIES
from shiftbench.core import atomic_files, checkout
from shiftbench.evaluation.overview import ledger
from shiftbench.publish import result_files
from shiftbench.publish.derived import pages, paper_columns, published, study_figures, tables
from shiftbench.publish.derived.evidence import PublishedResults
from shiftbench.publish.results_folder import ResultsFolder

REMEDY = "run `make derived`"
CONTEXT = 60
"""Number of characters shown of a line that differs."""


def derive(root: Path, of_studies: bool = True, figures: bool = True) -> list[str]:
    """Derive everything in a checkout, in place; return the sentences that results contradict.

    of_studies: derive the tables of studies too, which takes most of the time; figures: draw ledger
    and ranks, and make what the source data of studies give.
    """
    folder = root / ALL_PUBLISHED
    for studies in sorted(folder.glob(f"*/{STUDIES}")):
        _derive_config(studies.parent, of_studies, figures)
    published.write(folder, *_library(), figures)
    atomic_files.write(root / "config" / "README.md", reference.text())
    atomic_files.write(root / "config" / "schema.json", json_schema.text())
    return pages.fill(root, PublishedResults(folder))


def update(root: Path) -> list[str]:
    """Derive everything in place, unless published inputs changed; return the problems."""
    return list(_changed_inputs(root, of_studies=True, figures=True)) or derive(root)


def check(root: Path, of_studies: bool = True, figures: bool = False) -> list[str]:
    """Return the files of a checkout that are out of date, one line each; change nothing.

    of_studies, figures: as of `derive`.
    """
    changed = list(_changed_inputs(root, of_studies, figures))
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        _link(root.resolve(), copy, of_studies)
        problems = derive(copy, of_studies, figures)
        derived = sorted(
            path for path in copy.rglob("*") if path.is_file() and not path.is_symlink()
        )
        outdated = [text for path in derived for text in _compared(root, copy, path)]
        return [*changed, *problems, *outdated]


def _link(root: Path, copy: Path, of_studies: bool) -> None:
    """Copy a checkout as links, which derived files replace, so that only these are compared.

    of_studies: files of studies may be replaced; if not, their folder is a single link.
    """
    ignored = None if of_studies else shutil.ignore_patterns(STUDIES)
    for name in ("config", "docs", str(ALL_PUBLISHED)):
        shutil.copytree(root / name, copy / name, ignore=ignored, copy_function=os.symlink)
    for folder in [] if of_studies else (root / ALL_PUBLISHED).glob(f"*/{STUDIES}"):
        (copy / folder.relative_to(root)).symlink_to(folder, target_is_directory=True)
    (copy / "README.md").symlink_to(root / "README.md")


def _derive_config(results: Path, of_studies: bool, figures: bool) -> None:
    """Derive the tables of a published config and its overview, and the checksums of both."""
    file, overview = checkout.CONFIGS / f"{results.name}.yaml", results / result_files.OVERVIEW
    if not file.exists() or not (of_studies or overview.is_dir()):
        return
    plan = config_file.load(file)
    for study in sorted((results / STUDIES).iterdir()) if of_studies else ():
        if study.name in plan.studies:
            names = paper_columns.derive(study, plan, study) + tables.derive(study, plan, study)
            if figures:
                names += study_figures.derive(study, plan, study, tables.FROM_SCORES)
            result_files.update_checksums(study, names)
    if overview.is_dir():
        spec = specs.ledger(plan, results.name)
        claim_tables = {
            (results.name, study): results / STUDIES / study / "tables" / "claims.csv"
            for study in spec["studies"]
        }
        files = ledger.write(overview / "ledger", spec["claims"], claim_tables, figures)
        result_files.update_checksums(overview, [path.name for path in files])


def _library() -> tuple[list[dict[str, Any]], dict[str, str], list[str]]:
    """Return the claims of our library, the labels of methods, and the methods without rank."""
    library = Library(OURS)
    rows = [claim.model_dump(exclude_none=True) for claim in claims.load(library).values()]
    labels = {name: method.data["label"] for name, method in library.methods.items()}
    bounds = [name for name, method in library.methods.items() if method.data.get("bound")]
    return rows, labels, bounds


def _changed_inputs(root: Path, of_studies: bool, figures: bool) -> Iterator[str]:
    """Yield the published files whose checksum has changed, except those that `derive` makes."""
    for results in sorted((root / ALL_PUBLISHED).glob("*/")):
        for part in result_files.parts(results):
            for path in ResultsFolder(results).changed(part):
                of_scores = of_studies and path.stem in tables.FROM_SCORES
                of_data = of_studies and figures and study_figures.is_derived(path)
                if part != result_files.OVERVIEW and not of_scores and not of_data:
                    yield (
                        f"{path.relative_to(root)}: changed since it was published; restore it"
                        " with git, or publish the study again"
                    )


def _compared(root: Path, copy: Path, derived: Path) -> Iterator[str]:
    """Yield a line if a derived file differs from the committed one."""
    name = derived.relative_to(copy)
    committed = root / name
    if not committed.exists():
        yield f"{name}: is not committed; {REMEDY}"
    elif derived.read_bytes() != committed.read_bytes():
        yield f"{name}: {_first_difference(committed, derived)}; {REMEDY}"


def _first_difference(committed: Path, derived: Path) -> str:
    """Return the first difference of two files, in words."""
    if committed.suffix == ".png":
        return "is drawn otherwise now"
    texts = (path.read_text(encoding="utf-8").splitlines() for path in (committed, derived))
    for number, lines in enumerate(zip_longest(*texts, fillvalue=""), start=1):
        if lines[0] != lines[1]:
            pairs = enumerate(zip(*lines, strict=False))
            first = next((i for i, (old, new) in pairs if old != new), min(map(len, lines)))
            start = max(0, first - CONTEXT // 3)
            was, now = (line[start : start + CONTEXT] for line in lines)
            return f'line {number} has "{was}", derived is "{now}"'
    return "ends otherwise"
