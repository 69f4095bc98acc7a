"""What the paper says, what its code gives, and what correct formulas give.

knoblauch2018robust; the claims and the reasons are in `paper_and_code.yaml`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from shiftbench.errors import UserError
from shiftbench.planning import provenance, works
from shiftbench.scoring.results import StudyResults

KIND = "table"
CLAIMS = "paper_and_code.yaml"


def tabulate(study: StudyResults) -> pd.DataFrame:
    """One row a claim about the study's streams: paper, code, ours (mean over seeds), why.

    UserError where the study has nothing that a claim is about.
    """
    rows = [
        _row(study, stream, claim)
        for stream in study.streams
        for claim in claims()
        if _applies(study, stream, claim)
    ]
    if not rows:
        raise UserError(
            f"study {study.name}: the table paper-and-code has no claim about its streams,"
            " learners and metrics; take it out of the study's artefacts"
        )
    return pd.DataFrame(rows)


def caption(study: StudyResults) -> str:
    """What the columns are, on how many runs, and what is cut."""
    return (
        f"Claims of {works.short('knoblauch2018robust')}. paper: as printed; code: as its authors' "
        "code computes them, measured; ours: with correct formulas, mean over seeds, in the "
        f"metric's unit or in percent of the other learner's score. {study.budget()}"
    )


@cache
def claims() -> tuple[dict[str, Any], ...]:
    """All claims, in their order."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return tuple(yaml.safe_load(text))


def _applies(study: StudyResults, stream: str, claim: dict[str, Any]) -> bool:
    named = {claim["learner"], claim.get("relative_to", claim["learner"])}
    return (
        provenance.dataset(study.streams[stream]) == claim["dataset"]
        and named <= set(study.learners)
        and claim["metric"] in study.metrics
    )


def _row(study: StudyResults, stream: str, claim: dict[str, Any]) -> dict[str, str]:
    return {
        "stream": stream,
        "claim": claim["claim"],
        "paper": claim["paper"],
        "code": claim["code"],
        "ours": _ours(study, stream, claim),
        "why": claim["why"],
    }


def _ours(study: StudyResults, stream: str, claim: dict[str, Any]) -> str:
    """The mean score, or its change against the other learner's over the seeds of both."""
    score = study.score(stream, claim["learner"], claim["metric"])
    other = study.score(stream, claim.get("relative_to", claim["learner"]), claim["metric"])
    both = np.isfinite(score) & np.isfinite(other)
    if not both.any():
        return "failed"
    if "relative_to" not in claim:
        return f"{score[both].mean():g}"
    percent = f"{100 * (score[both].mean() / other[both].mean() - 1):+.1f}"
    if float(percent) == 0:
        return "equal"
    return f"{percent[1:]} % {'higher' if percent[0] == '+' else 'lower'}"
