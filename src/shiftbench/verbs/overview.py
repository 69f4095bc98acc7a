"""Verbs of what is made of several studies together: the ledger of claims, ranks of methods."""

from __future__ import annotations

import argparse

from shiftbench.errors import UserError
from shiftbench.verbs.jobs import sealed, stem_of


@sealed(reads=("tables",), makes=("output",))
def ledger(options: argparse.Namespace) -> None:
    """Makes the ledger of all claims (STEM.csv, .md, .svg and .png) from the studies' tables."""
    from shiftbench.planning import config, specs

    spec = specs.ledger(config.load(options.config), options.config.stem)
    specs.refuse_other(spec, options.digest)
    stem = stem_of(options.output, ("csv", "md", "svg", "png"))

    from shiftbench.artefacts import _style, _tables
    from shiftbench.overview import ledger

    studies = [(spec["config"], study) for study in spec["studies"]]
    rows = ledger.collect(spec["claims"], dict(zip(studies, options.tables, strict=True)))
    _tables.save(rows, stem, ledger.caption(rows), ledger.shown(rows))
    _style.save(ledger.draw(rows), stem, ledger.caption(rows), words=True)


@sealed(reads=("scores",), makes=("output",))
def ranks(options: argparse.Namespace) -> None:
    """Draws the ranks of methods (STEM.svg and STEM.png) over the studies that are tuned."""
    from shiftbench.planning import config, specs

    spec = specs.ranks(config.load(options.config))
    specs.refuse_other(spec, options.digest)
    stem = stem_of(options.output, ("svg", "png"))

    import pandas as pd

    from shiftbench.artefacts import _style
    from shiftbench.overview import ranks

    scores = pd.concat([pd.read_csv(path) for path in options.scores])
    told = ranks.caption(ranks.shared(scores, spec["bounds"]))
    _style.save(ranks.draw(scores, spec["labels"], spec["bounds"]), stem, told)


def published(options: argparse.Namespace) -> None:
    """Writes the ledger of claims, and ranks of methods, over all published results."""
    if not options.published.is_dir():
        raise UserError(f"{options.published}: there is no such folder; publish results first")

    from shiftbench.overview import published
    from shiftbench.planning import claims
    from shiftbench.planning.library import OURS, Library

    known = Library(OURS)
    spoken = [claim.model_dump(exclude_none=True) for claim in claims.load(known).values()]
    labels = {name: method.data["label"] for name, method in known.methods.items()}
    bounds = [name for name, method in known.methods.items() if method.data.get("bound")]
    for path in published.write(options.published, spoken, labels, bounds):
        print(path)
