"""Files beside the pages: figures, small enough to open at once, and tables to download."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from shiftbench.config import bibliography, components, result_paths
from shiftbench.core import checkout
from shiftbench.evaluation import figure_files
from shiftbench.evaluation.scoring import ranking
from shiftbench.publish.site import numbers
from shiftbench.publish.site.collect import SiteResults, SiteStudy
from shiftbench.publish.site.standings import Standings

COLOURS = 256
"""Number of colours of a figure: enough for line art, at a third of the size."""
PICTURE = ".webp"
"""Suffix of figures in the site: WebP without loss is a fifth smaller than PNG."""
MOST_SVG = 8_000_000
"""Largest size of all SVGs of a site together, in bytes; else they are only in the results.

They are opened only by a click, so pages load as fast with them. But the site of the published
results has 20 MB without its SVGs, and would have 60 MB with them.
"""
DOWNLOADS = (result_paths.SUMMARY, result_paths.SCORE_TABLE)
LARGEST_TABLE = 8_000
"""Largest unpacked table, in bytes; larger ones are compressed, to a fifth or less."""
NAMED = 5
"""Largest number of methods in an alternative text."""


class SiteFigure(NamedTuple):
    """A figure in the site.

    picture, svg: addresses from the site's root, svg empty without a copy there; size: width and
    height in pixels; alt: alternative text; caption: as in the file, may be empty; source: the file
    in the results.
    """

    name: str
    picture: str
    svg: str
    size: tuple[int, int]
    alt: str
    caption: str
    source: str


def has_svg(results: SiteResults) -> bool:
    """Return whether a site of these results has its figures as SVG too."""
    return sum(path.stat().st_size for path in results.drawings) <= MOST_SVG


def figures(
    study: SiteStudy, standings: Standings, site: Path, with_svg: bool = True
) -> list[SiteFigure]:
    """Copy the figures of a study to the site, in the order of its config."""
    order = {name: number for number, name in enumerate(study.planned.artefacts)}
    paths = sorted(
        (study.folder / "figures").glob("*.png"),
        key=lambda path: (order.get(path.stem, len(order)), path.stem),
    )
    return [
        figure(path, site, f"figures/{study.place}", _alternative(study, standings, path), with_svg)
        for path in paths
    ]


def shared_sentences(
    figures: list[SiteFigure], elsewhere: str = ""
) -> tuple[list[SiteFigure], str]:
    """Return figures with shorter captions, and the sentences that all captions share.

    elsewhere: text in another place of the page, whose sentences are not repeated.
    """
    if len(figures) < 2:
        return figures, ""
    captions = [_sentences(one.caption) for one in figures]
    shared = [one for one in captions[0] if all(one in caption for caption in captions)]
    own = [[one for one in caption if one not in shared] for caption in captions]
    shorter = [one._replace(caption=" ".join(rest)) for one, rest in zip(figures, own, strict=True)]
    return shorter, " ".join(one for one in shared if one.rstrip(".") not in elsewhere)


def _caption(picture: Path) -> str:
    """Return the caption of a figure; words that were wrapped at a hyphen are whole again."""
    return re.sub(r"(?<=[a-z])- (?!and |or )", "-", figure_files.read_caption(picture))


def _sentences(text: str) -> list[str]:
    """Split a caption where a full stop is followed by a capital letter or a digit."""
    return [one for one in re.split(r"(?<=\.) (?=[A-Z0-9])", text) if one]


def figure(path: Path, site: Path, folder: str, alt: str, with_svg: bool = True) -> SiteFigure:
    """Copy one figure to a folder of the site; with_svg: its drawing too, if there is one."""
    target = (site / folder / path.name).with_suffix(PICTURE)
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(path) as picture:
        size = picture.size
        small = picture.convert("RGB").quantize(
            COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
        small.convert("RGB").save(target, lossless=True)
    drawing = path.with_suffix(".svg")
    svg = ""
    if with_svg and drawing.exists():
        shutil.copyfile(drawing, target.with_suffix(".svg"))
        svg = f"{folder}/{drawing.name}"
    return SiteFigure(
        name=path.stem,
        picture=f"{folder}/{target.name}",
        svg=svg,
        size=size,
        alt=alt,
        caption=_caption(path),
        source=_within_checkout(drawing),
    )


def _within_checkout(path: Path) -> str:
    """Return a path from the top of the checkout, where it is inside."""
    home = checkout.HOME
    return (path.relative_to(home) if path.is_relative_to(home) else path).as_posix()


def downloads(study: SiteStudy, site: Path) -> list[str]:
    """Copy the tables of numbers of a study to the site; return their addresses from its root."""
    target = site / "data" / study.place
    target.mkdir(parents=True, exist_ok=True)
    tables = [path for name in DOWNLOADS if (path := study.folder / name).exists()]
    return [f"data/{study.place}/{_download(path, target)}" for path in tables]


def _download(table: Path, folder: Path) -> str:
    """Copy a table to a folder, compressed if it is large; return its name there."""
    if table.stat().st_size <= LARGEST_TABLE:
        shutil.copyfile(table, folder / table.name)
        return table.name
    packed = folder / f"{table.name}.gz"
    packed.write_bytes(gzip.compress(table.read_bytes(), mtime=0))
    return packed.name


def _alternative(study: SiteStudy, standings: Standings, path: Path) -> str:
    """Return the alternative text of a figure: what it says, its summary, and leading numbers.

    What it says is the first sentence of its caption.
    """
    summary = about(path.stem) or path.stem
    first, *_ = _caption(path).split(". ")
    sentences = [first.rstrip("."), summary.rstrip("."), *_leaders(study, standings)]
    return ". ".join(filter(None, sentences)) + ". All numbers are in the tables of this page."


def about(artefact: str) -> str:
    """Return what a kind of figure shows, as a sentence; empty for a kind that is not known."""
    if artefact not in components.names("artefacts"):
        return ""
    return bibliography.in_words(components.summary("artefacts", artefact))


def _leaders(study: SiteStudy, standings: Standings) -> Iterable[str]:
    metric = standings.metric
    cells = [cell for cell in standings.cells.values() if cell.scores][:1]
    if metric is None or not cells:
        return
    (cell,) = cells
    best = [
        f"{study.label(name)} {numbers.row_text(study, cell.stream, name, metric)}"
        for name in list(cell.scores)[:NAMED]
    ]
    better = "higher" if ranking.higher_is_better(metric) else "lower"
    yield f"Best {metric} on {cell.stream} ({better} is better): {'; '.join(best)}"
