"""What papers claim about the study's methods, and what our scores say of it.

One row a claim and stream, of the ledger in config/claims; the verdicts are those of
`scoring.verdicts`. Made for every study that judges a claim.
"""

from __future__ import annotations

import math

import pandas as pd

from shiftbench.config import bibliography
from shiftbench.config.claim_schema import Claim
from shiftbench.evaluation.scoring import statistics, verdicts
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "table"
CLAIMS = True

COLUMNS = (
    "claim", "paper", "where", "says", "stream", "metric", "printed", "code", "scores", "measured",
    "ours", "low", "high", "from", "to", "seeds", "share", "verdict", "ours_may",
)  # fmt: skip
"""Numbers are as texts, so that the table in Markdown has them as they are."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a claim and stream, with the columns of `caption`."""
    rows = [_row(study, claim, stream) for claim, streams in study.claims for stream in streams]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """What people read of the table, in fewer columns."""
    known = rows["low"].ne("")
    between = (" [" + rows["low"] + ", " + rows["high"] + "]").where(known, "")
    return pd.DataFrame(
        {
            "claim": rows["claim"],
            "where": rows["paper"] + ", " + rows["where"],
            "says": rows["says"],
            "stream": rows["stream"],
            "printed": rows["printed"],
            "code": rows["code"],
            "scores": rows["scores"],
            "measured": rows["measured"],
            "ours": rows["ours"] + between,
            "seeds": rows["seeds"],
            "share": rows["share"],
            "verdict": rows["verdict"],
            "ours may differ": rows["ours_may"],
        }
    )


def caption(study: StudyResults) -> str:
    """What the columns are, on how many runs, and what is cut."""
    return (
        "printed: the paper's numbers. code: what its authors' code gives. scores: ours, mean over "
        "seeds. measured: the number that decides; ours: its mean with its 95 % interval (Student "
        "t; differences seed by seed). Where it has to lie for the claim stands in the CSV file "
        "(from, to). share: of the paper's training, rows times epochs. reproduced: the whole "
        "interval lies there; contradicted: all of it elsewhere; unresolved: neither, or a single "
        "seed; not at this budget: the share is too small for a verdict. "
        f"{study.budget()}"
    )


def _row(study: StudyResults, claim: Claim, stream: str) -> dict[str, str]:
    found = verdicts.judge(claim, study, stream)
    wanted, ours = found.decisive.range, found.decisive.ours
    return {
        "claim": claim.name,
        "paper": bibliography.short(claim.work),
        "where": claim.where,
        "says": claim.says,
        "stream": stream,
        "metric": claim.metric,
        "printed": claim.paper,
        "code": claim.code,
        "scores": _scores(study, claim, stream),
        "measured": found.decisive.words,
        "ours": _number(ours.mean),
        "low": _number(ours.low) if ours.n > 1 else "",
        "high": _number(ours.high) if ours.n > 1 else "",
        "from": _number(wanted.low),
        "to": _number(wanted.high),
        "seeds": str(ours.n),
        "share": _number(found.share, 2),
        "verdict": found.verdict,
        "ours_may": claim.ours_may,
    }


def _scores(study: StudyResults, claim: Claim, stream: str) -> str:
    """The mean score of each method, under each metric if there are two."""
    metrics = [claim.metric, *claim.holds.metrics]
    said = []
    for method in claim.holds.methods:
        for metric in metrics:
            of_seeds = statistics.interval(verdicts.scores(study, stream, method, metric))
            name = study.label(study.standing(method)) if len(metrics) == 1 else metric
            said.append(f"{name} {_number(of_seeds.mean) or 'failed'}")
    return "; ".join(said)


def _number(value: float, digits: int = 4) -> str:
    """To some digits; empty for what is not a number, or for no limit."""
    return f"{value:.{digits}g}" if math.isfinite(value) else ""
