"""Phrases for the words with which components declare what they fit.

A user's own component may add words, which are shown as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiftbench.core.facts import KINDS, PREDICTIONS

PROPERTIES = {
    "tests": "test data",
    "earlier-tests": "test data of all tasks so far, to judge on after each task",
    "shifts": "changes that are known",
    "outliers": "outliers that are known",
    "unknown-truth": "changes that no one knows",
    "returns": "concepts that come back",
    "heads": "a head for each task",
    "maps": "images under affine maps",
    "warm-up": "a warm-up before the first task",
    "one-row": "tasks of one row",
    "blocks": "tasks of several steps of a series",
    "series": "series over time",
    "true-level": "a known true level",
    "table": "a table in random orders",
    "plane": "one or two features",
    "log-odds": "log-odds of a share as targets",
    "held-out": "held-out documents",
    "planted": "planted changes of words",
    "known-changes": "words of which some changes are known",
    "mixed": "rows of several tasks at once",
    "hidden-layer": "a hidden layer",
    "learnt-noise": "a noise that is learnt",
    "convolution": "convolutions",
}
OFFERS = {
    "broaden": "a posterior that can be broadened",
    "log_evidence": "a log evidence of each hypothesis",
    "changes": "decisions about changes",
    "alarm_statistic": "a statistic that rises with the evidence for a change",
    "lineage": "hypotheses that each know their parent and their decision about a change",
    "rivals": "two hypotheses or more",
    "diffusion": "changes that diffuse the posterior",
    "run_length": "run lengths",
    "level": "a conjugate Gaussian posterior of a level",
    "mean": "a vector of each word",
    "context": "context vectors",
    "loss": "a loss of each row, with settings `loss`, `ridge` and `bound`",
    "theorem": "a bound on the regret",
    "draws": "draws of the posterior",
    "gradients": "the spread of the gradients at the end of each task",
    "gradients_at_start": "the spread of gradients at the start of training",
    "truncation": "weights whose noise is cut off",
    "closeness": "how near fitted posteriors are to the exact ones",
    "betas": "a beta_rlm above 0 to learn from",
    "density": "a log density whose prior can be learnt",
    "scratch": "each task learnt from scratch",
    "boundary": "what the protocol reveals",
}
IN_WORDS = KINDS | PREDICTIONS | PROPERTIES | OFFERS


def in_words(words: Iterable[str], join: str = "and") -> str:
    """Words as a person says them: a, b and c."""
    phrases = [IN_WORDS.get(word, word) for word in words]
    return listed(phrases, join)


def listed(items: Iterable[str], join: str = "and") -> str:
    """Items in a sentence: a, b and c."""
    *first, last = items
    return f"{', '.join(first)} {join} {last}" if first else last
