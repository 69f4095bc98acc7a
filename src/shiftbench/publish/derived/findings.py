"""Findings: sentences about results whose numbers are computed, from docs/findings.yaml.

A finding is a template with its evidence (`derived.evidence`). Words that state a comparison need
evidence of that kind: "lead" needs a resolved difference, "trials" equal numbers of trials.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from shiftbench.core.errors import UserError
from shiftbench.publish.derived import statements
from shiftbench.publish.derived.evidence import (
    Disagreement,
    Evidence,
    PublishedResults,
    Unpublished,
)

LONGEST = 30
"""Largest number of words of a sentence."""
TYPED = re.compile(r"\d\.\d|\d ?%|\d points|\d-fold")
"""Numbers that must be computed, unlike names (CIFAR-10) and settings (25 rows)."""
OF_CLOCKS = {"beats_clock", "clock_counts", "no_better_than_clock"}
WORDS = {
    re.compile(r"\bleads?\b|\bahead of\b|\bbeats?\b|\bbetter than\b"): {
        "leads",
        "counts",
        *OF_CLOCKS,
    },
    re.compile(r"\balike\b|\btrials\b"): {"trials"},
    re.compile(
        r"\bsignificant\b|\bresolved\b|\btell apart\b|\btold apart\b|\bbeyond the noise\b"
    ): {
        "unresolved",
        "counts",
        *OF_CLOCKS,
    },
    re.compile(r"\bbest\b|\bhighest\b|\blowest\b"): {"best"},
}
"""Words of a sentence, with the kinds of evidence that may support them."""


class ComputedSentence(BaseModel):
    """A sentence or two with placeholders, and evidence for each placeholder.

    gives_results_of: key of the paper whose results appear with the settings of the sentence.
    """

    model_config = ConfigDict(extra="forbid")

    says: str
    gives_results_of: str = ""
    rests_on: dict[str, Evidence]


def load(path: Path) -> dict[str, ComputedSentence]:
    """Return all findings of a file by name. Raises UserError for a file of another form."""
    try:
        content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return {name: ComputedSentence.model_validate(entry) for name, entry in content.items()}
    except (ValidationError, yaml.YAMLError) as error:
        raise UserError(f"{path}: {error}") from None


def sentence(name: str, finding: ComputedSentence, published: PublishedResults) -> str:
    """Return the sentence with the numbers of published results.

    Raises UserError if results disagree, or the words state something without evidence, and
    Unpublished if a study has no results yet.
    """
    if problem := _unsupported(finding):
        raise UserError(f'finding {name}: {problem}. It says: "{finding.says}"')
    try:
        answers = {key: statements.answer(published, row) for key, row in finding.rests_on.items()}
        return finding.says.format_map(answers)
    except Disagreement as reason:
        raise UserError(
            f"finding {name}: the published results disagree: {reason}."
            f' The prose says: "{finding.says}"; change it in docs/findings.yaml'
        ) from None
    except (KeyError, AttributeError) as error:
        raise UserError(f"finding {name}: no row for the placeholder {error}") from None
    except Unpublished:
        raise
    except UserError as error:
        raise UserError(f"finding {name}: {error}") from None


def _unsupported(finding: ComputedSentence) -> str:
    """Return the support that the words of a finding lack, or an empty text."""
    words = re.sub(r"\{.*?\}", "N", finding.says)
    if any(len(part.split()) > LONGEST for part in re.split(r"(?<=[.;:])\s", words)):
        return f"a sentence has more than {LONGEST} words"
    if typed := TYPED.search(re.sub(r"\{.*?\}", "", finding.says)):
        return f'the number "{typed.group()}" is typed; compute it from a row'
    kinds = {key: statements.kind(row) for key, row in finding.rests_on.items()}
    for pattern, needed in WORDS.items():
        if (word := pattern.search(words)) and needed.isdisjoint(kinds.values()):
            return f'"{word.group()}" needs a row with {" or ".join(sorted(needed))}'
    unused = [key for key in finding.rests_on if not re.search(rf"\{{{key}[.}}]", finding.says)]
    shown = [key for key in unused if kinds[key] in ("value", "paper", "costs")]
    return f"the number of the row {shown[0]} is not shown" if shown else ""
