"""The files beside the pages: figures, small enough to open at once, and tables to download."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from shiftbench.config import components
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import numbers
from shiftbench.publish.site.collect import Study
from shiftbench.publish.site.standings import Standings

COLOURS = 256
"""Of a figure in the site: line art needs no more, and is a third of its size."""
LARGEST_SVG = 100_000
"""Bytes of a drawing that the site has beside a picture; larger ones are in the results alone."""
DOWNLOADS = ("summary.csv", "scores.csv")
LARGEST_TABLE = 50_000
"""Bytes of a table that the site has as it is; larger ones are packed, to a fifth and less."""
NAMED = 5
"""Methods that an alternative text names at most."""


class Figure(NamedTuple):
    """A figure in the site. png, svg: addresses from the site's root, svg empty where it is too
    large; size: width and height in pixels; alt: what it says, in words; caption: what its marks
    are and what it rests on, empty of figures made without; source: in the results."""

    name: str
    png: str
    svg: str
    size: tuple[int, int]
    alt: str
    caption: str
    source: str


def figures(study: Study, standings: Standings, site: Path) -> list[Figure]:
    """Puts the figures of a study into the site, in the order of its config."""
    order = {name: place for place, name in enumerate(study.planned.artefacts)}
    paths = sorted(
        (study.folder / "figures").glob("*.png"),
        key=lambda path: (order.get(path.stem, len(order)), path.stem),
    )
    return [
        figure(path, site, f"figures/{study.place}", _alternative(study, standings, path.stem))
        for path in paths
    ]


def figure(path: Path, site: Path, folder: str, alt: str) -> Figure:
    """Puts one figure into a folder of the site."""
    target = site / folder / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(path) as picture:
        size = picture.size
        small = picture.convert("RGB").quantize(
            COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
        small.save(target)
    drawing = path.with_suffix(".svg")
    kept = drawing.exists() and drawing.stat().st_size <= LARGEST_SVG
    if kept:
        shutil.copyfile(drawing, target.with_suffix(".svg"))
    svg = f"{folder}/{drawing.name}" if kept else ""
    caption = figure_style.read_caption(path)
    return Figure(path.stem, f"{folder}/{path.name}", svg, size, alt, caption, drawing.as_posix())


def downloads(study: Study, site: Path) -> list[str]:
    """Puts the tables of numbers of a study into the site; their addresses from its root."""
    target = site / "data" / study.place
    target.mkdir(parents=True, exist_ok=True)
    tables = [path for name in DOWNLOADS if (path := study.folder / name).exists()]
    return [f"data/{study.place}/{_download(path, target)}" for path in tables]


def _download(table: Path, folder: Path) -> str:
    """Puts a table into a folder; its name there, which ends in .gz where it was large."""
    if table.stat().st_size <= LARGEST_TABLE:
        shutil.copyfile(table, folder / table.name)
        return table.name
    packed = folder / f"{table.name}.gz"
    packed.write_bytes(gzip.compress(table.read_bytes(), mtime=0))
    return packed.name


def _alternative(study: Study, standings: Standings, artefact: str) -> str:
    """What a figure shows, and the numbers behind it, for those who do not see it."""
    known = artefact in components.names("artefacts")
    what = components.summary("artefacts", artefact) if known else artefact
    said = [what.rstrip("."), *_leaders(study, standings)]
    return ". ".join(said) + ". All numbers are in the tables of this page."


def _leaders(study: Study, standings: Standings) -> Iterable[str]:
    metric = standings.metric
    cells = [cell for cell in standings.cells.values() if cell.scores][:1]
    if metric is None or not cells:
        return
    (cell,) = cells
    best = [
        f"{study.label(name)} {numbers.row_text(study, cell.stream, name, metric)}"
        for name in list(cell.scores)[:NAMED]
    ]
    up = "higher" if ranking.higher_is_better(metric) else "lower"
    yield f"Best {metric} on {cell.stream} ({up} is better): {'; '.join(best)}"
