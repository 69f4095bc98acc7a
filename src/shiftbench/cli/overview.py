"""Verbs of what is made of several studies together: the ledger of claims, ranks of methods."""

from __future__ import annotations

import argparse
from pathlib import Path

from shiftbench.cli.jobs import sealed, stem_of
from shiftbench.core.errors import UserError


@sealed(reads=("tables",), makes=("output",))
def ledger(options: argparse.Namespace) -> None:
    """Makes the ledger of all claims (STEM.csv, .md, .svg and .png) from the studies' tables."""
    from shiftbench.config import config_file, specs

    spec = specs.ledger(config_file.load(options.config), options.config.stem)
    specs.refuse_other(spec, options.digest)
    stem = stem_of(options.output, ("csv", "md", "svg", "png"))

    from shiftbench.evaluation.overview import ledger

    studies = [(spec["config"], study) for study in spec["studies"]]
    ledger.write(stem, spec["claims"], dict(zip(studies, options.tables, strict=True)))


@sealed(reads=("scores",), makes=("output",))
def ranks(options: argparse.Namespace) -> None:
    """Draws the ranks of methods (STEM.svg and STEM.png) over the studies that are tuned."""
    from shiftbench.config import config_file, specs

    spec = specs.ranks(config_file.load(options.config))
    specs.refuse_other(spec, options.digest)
    stem = stem_of(options.output, ("svg", "png"))

    import pandas as pd

    from shiftbench.evaluation import figure_style
    from shiftbench.evaluation.overview import ranks

    scores = pd.concat([pd.read_csv(path) for path in options.scores])
    told = ranks.caption(ranks.shared(scores, spec["bounds"]))
    figure_style.save(ranks.draw(scores, spec["labels"], spec["bounds"]), stem, told)


def derive(options: argparse.Namespace) -> None:
    """Derives everything committed that needs no training, in place; with --check, compares."""
    root = Path(".")
    if not (root / "results" / "published").is_dir():
        raise UserError("derive: there is no results/published here; run it in a checkout")

    from shiftbench.publish.derived import derive

    problems = derive.check(root) if options.check else derive.update(root)
    if problems:
        raise UserError("\n".join(problems))
