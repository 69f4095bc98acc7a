"""Claims of papers about the study's methods, with our scores and verdicts.

One row per claim and stream, for the claims in config/claims; `scoring.verdicts` gives the
verdicts. Every study that judges a claim has this table.
"""

from __future__ import annotations

import math

import pandas as pd

from shiftbench.config import bibliography, paper_training
from shiftbench.config.claim_schema import Claim
from shiftbench.core.facts import Facts
from shiftbench.evaluation.scoring import statistics, verdicts
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(study=("claims",))

COLUMNS = (
    "claim", "paper", "where", "read", "says", "stream", "metric", "printed", "code", "scores",
    "measured", "ours", "low", "high", "from", "to", "seeds", "share", "verdict", "ours_may",
)  # fmt: skip
"""Columns of the table. Numbers are texts, so that Markdown shows the same digits."""


def tabulate(study: StudyResults) -> pd.DataFrame:
    """Return one row per claim and stream; `caption` describes the columns."""
    rows = [_row(study, claim, stream) for claim, streams in study.claims for stream in streams]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the table for reading, in fewer columns."""
    has_interval = rows["low"].ne("")
    interval = (" [" + rows["low"] + ", " + rows["high"] + "]").where(has_interval, "")
    return pd.DataFrame(
        {
            "claim": rows["claim"],
            "where": rows["paper"] + ", " + rows["where"] + " (" + rows["read"] + ")",
            "says": rows["says"],
            "stream": rows["stream"],
            "printed": rows["printed"],
            "code": rows["code"],
            "scores": rows["scores"],
            "measured": rows["measured"],
            "ours": rows["ours"] + interval,
            "seeds": rows["seeds"],
            "share": rows["share"],
            "verdict": rows["verdict"],
            "ours may differ": rows["ours_may"],
        }
    )


def caption(study: StudyResults) -> str:
    """Describe the columns, the number of runs and the reductions."""
    return (
        "printed: the paper's numbers. code: what its authors' code gives. scores: ours, mean over "
        "seeds. measured: the number that decides; ours: its mean with its 95 % interval (Student "
        "t; differences seed by seed). Where it has to lie for the claim stands in the CSV file "
        "(from, to). share: of the paper's training, rows times epochs times weights, each at "
        "most 1. reproduced: the whole interval lies there; contradicted: all of it elsewhere; "
        "unresolved: neither, or a single seed; not at this budget: the share is below "
        f"{paper_training.LEAST:g}; budget unknown: so is the share. holds, fails, open: the same "
        "of a check, which is proved or holds by definition. "
        f"{study.basis()}"
    )


def _row(study: StudyResults, claim: Claim, stream: str) -> dict[str, str]:
    judgement = verdicts.judge(claim, study, stream)
    expected, ours = judgement.decisive.range, judgement.decisive.ours
    return {
        "claim": claim.name,
        "paper": bibliography.short(claim.work),
        "where": claim.where,
        "read": claim.read,
        "says": claim.says,
        "stream": stream,
        "metric": claim.metric,
        "printed": claim.paper,
        "code": claim.code,
        "scores": _scores(study, claim, stream),
        "measured": judgement.decisive.words,
        "ours": _number(ours.mean),
        "low": _number(ours.low) if ours.low < ours.high else "",
        "high": _number(ours.high) if ours.low < ours.high else "",
        "from": _number(expected.low),
        "to": _number(expected.high),
        "seeds": str(ours.n),
        "share": "" if judgement.share is None else _number(judgement.share, 2),
        "verdict": judgement.verdict,
        "ours_may": claim.ours_may,
    }


def _scores(study: StudyResults, claim: Claim, stream: str) -> str:
    """Return the mean score of each method, in words, by each metric if there are several."""
    metrics = [claim.metric, *claim.holds.metrics]
    words, means = [], []
    for method in claim.holds.methods:
        for metric in metrics:
            of_seeds = statistics.interval(verdicts.scores(study, stream, method, metric))
            name = study.label(study.row_of(method)) if len(metrics) == 1 else metric
            words.append(f"{name} {_number(of_seeds.mean) or 'failed'}")
            means.append(of_seeds.mean)
    if claim.check and claim.holds.metrics:  # how tight a bound is
        words.append(f"the first is {means[0] / means[1]:.2g} of the second")
    return "; ".join(words)


def _number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits; empty for NaN or no limit."""
    return f"{value:.{digits}g}" if math.isfinite(value) else ""
