"""Everything committed that can be derived without training, derived again and compared.

In the order in which one rests on the other: tables of published studies, ledger, ranks and costs,
the config reference and schema, and the sentences and tables of pages.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from shiftbench.config import claims, config_file, json_schema, reference, specs
from shiftbench.config.library import OURS, Library
from shiftbench.core import atomic_files, checkout
from shiftbench.data.store import checksum
from shiftbench.evaluation.overview import ledger
from shiftbench.publish import files
from shiftbench.publish.derived import pages, published, tables
from shiftbench.publish.derived.evidence import Published

PUBLISHED = Path("results/published")
STUDIES = "studies"
REMEDY = "run `make derived`"
CONTEXT = 60
"""Characters that are shown of a line that differs."""


def derive(root: Path, of_studies: bool = True, figures: bool = True) -> list[str]:
    """Derive everything in a checkout, in place. Returns what prose says that does not hold.

    of_studies: whether the tables of studies are derived, too, which takes most of the time;
    figures: whether ledger and ranks are drawn.
    """
    folder = root / PUBLISHED
    for of_config in sorted(folder.glob(f"*/{STUDIES}")):
        _of_config(of_config.parent, of_studies, figures)
    published.write(folder, *_library(), figures)
    atomic_files.write(root / "config" / "README.md", reference.text())
    atomic_files.write(root / "config" / "schema.json", json_schema.text())
    return pages.fill(root, Published(folder))


def update(root: Path) -> list[str]:
    """Derive everything in place, unless what it rests on was changed. Returns what is wrong."""
    return list(_changed_inputs(root, derived=tables.FROM_SCORES)) or derive(root)


def check(root: Path, of_studies: bool = True, figures: bool = False) -> list[str]:
    """List what is out of date in a checkout, one line each; write nothing there.

    of_studies, figures: as of `derive`.
    """
    broken = list(_changed_inputs(root, derived=tables.FROM_SCORES if of_studies else ()))
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        _link(root.resolve(), copy, of_studies)
        said = derive(copy, of_studies, figures)
        made = sorted(path for path in copy.rglob("*") if path.is_file() and not path.is_symlink())
        return [*broken, *said, *(text for path in made for text in _compared(root, copy, path))]


def _link(root: Path, copy: Path, of_studies: bool) -> None:
    """A copy of a checkout made of links. What is derived replaces a link: only that is compared.

    of_studies: whether files of studies are replaced; if not, their folder is one link.
    """
    left = shutil.ignore_patterns("*.png", "*.svg", *([] if of_studies else [STUDIES]))
    for name in ("config", "docs", str(PUBLISHED)):
        shutil.copytree(root / name, copy / name, ignore=left, copy_function=os.symlink)
    for folder in [] if of_studies else (root / PUBLISHED).glob(f"*/{STUDIES}"):
        (copy / folder.relative_to(root)).symlink_to(folder, target_is_directory=True)
    (copy / "README.md").symlink_to(root / "README.md")


def _of_config(results: Path, of_studies: bool, figures: bool) -> None:
    """The tables of a published config and its overview, and the checksums of both."""
    file, place = checkout.CONFIGS / f"{results.name}.yaml", results / files.OVERVIEW
    if not file.exists() or not (of_studies or place.is_dir()):
        return
    plan = config_file.load(file)
    for study in sorted((results / STUDIES).iterdir()) if of_studies else ():
        if study.name in plan.studies:
            _seal(study, tables.derive(study, plan, study))
    if place.is_dir():
        spec = specs.ledger(plan, results.name)
        found = {
            (results.name, study): results / STUDIES / study / "tables" / "claims.csv"
            for study in spec["studies"]
        }
        made = ledger.write(place / "ledger", spec["claims"], found, figures)
        _seal(place, [path.name for path in made])


def _library() -> tuple[list[dict[str, Any]], dict[str, str], list[str]]:
    """Of ours: all claims, what figures call methods, and the methods that have no rank."""
    library = Library(OURS)
    spoken = [claim.model_dump(exclude_none=True) for claim in claims.load(library).values()]
    labels = {name: method.data["label"] for name, method in library.methods.items()}
    bounds = [name for name, method in library.methods.items() if method.data.get("bound")]
    return spoken, labels, bounds


def _seal(folder: Path, names: list[str]) -> None:
    """Write the checksums of derived files to SHA256SUMS; the lines of all others stay."""
    listed = folder / files.CHECKSUMS
    lines = listed.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = {line.rstrip("\n").partition("  ")[2]: line for line in lines}
    made = {name: checksum.line(name, folder / name) for name in names}
    text = "".join(line for _, line in sorted((kept | made).items()))
    atomic_files.write(listed, text)


def _changed_inputs(root: Path, derived: Collection[str]) -> Iterator[str]:
    """Published files that have another checksum than when published, but for derived tables."""
    for results in sorted((root / PUBLISHED).glob("*/")):
        for part in files.parts(results):
            for path in files.changed(results, part):
                if part != files.OVERVIEW and path.stem not in derived:
                    yield (
                        f"{path.relative_to(root)}: changed since it was published; restore it"
                        " with git, or publish the study again"
                    )


def _compared(root: Path, copy: Path, made: Path) -> Iterator[str]:
    """One line where a derived file is not the committed one."""
    name = made.relative_to(copy)
    committed = root / name
    if not committed.exists():
        yield f"{name}: is not committed; {REMEDY}"
    elif made.read_bytes() != committed.read_bytes():
        yield f"{name}: {_first_difference(committed, made)}; {REMEDY}"


def _first_difference(committed: Path, derived: Path) -> str:
    """Where two files differ first, in words."""
    if committed.suffix == ".png":
        return "is drawn otherwise now"
    ours, theirs = (path.read_text(encoding="utf-8").splitlines() for path in (committed, derived))
    longest = max(len(ours), len(theirs))
    padded = [lines + [""] * (longest - len(lines)) for lines in (ours, theirs)]
    for number, (one, other) in enumerate(zip(*padded, strict=True), start=1):
        if one != other:
            pairs = zip(one, other, strict=False)
            equal = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
            start = max(0, equal - CONTEXT // 3)
            was, now = (line[start : start + CONTEXT] for line in (one, other))
            return f'line {number} has "{was}", derived is "{now}"'
    return "ends otherwise"
