"""The verbs that the rules call for what is made of all studies together."""

from __future__ import annotations

import argparse

from shiftbench.verbs.jobs import sealed


@sealed(reads=("tables",), makes=("made",))
def ledger(options: argparse.Namespace) -> None:
    """Makes the ledger of all claims (OUTPUT.csv, .md, .svg and .png) from the studies' tables."""
    from shiftbench.planning import config, specs

    spec = specs.ledger(config.load(options.config), options.config.stem)
    specs.refuse_other(spec, options.digest)

    from shiftbench.artefacts import _style, _tables
    from shiftbench.overview import ledger

    rows = ledger.collect(spec, dict(zip(spec["studies"], options.tables, strict=True)))
    _tables.save(rows, options.output, ledger.caption(rows), ledger.shown(rows))
    _style.save(ledger.draw(rows), options.output)
    kinds = ("csv", "md", "png", "svg")
    options.made = [options.output.with_name(f"{options.output.name}.{kind}") for kind in kinds]


@sealed(reads=("tables",), makes=("made",))
def ranks(options: argparse.Namespace) -> None:
    """Draws the ranks of methods (OUTPUT.svg and .png) from the studies' tables of scores."""
    from shiftbench.planning import config, specs

    spec = specs.ranks(config.load(options.config))
    specs.refuse_other(spec, options.digest)

    import pandas as pd

    from shiftbench.artefacts import _style
    from shiftbench.overview import ranks

    scores = ranks.chosen(spec, pd.concat([pd.read_csv(path) for path in options.tables]))
    _style.save(ranks.draw(scores, spec["labels"]), options.output)
    kinds = ("png", "svg")
    options.made = [options.output.with_name(f"{options.output.name}.{kind}") for kind in kinds]
