"""The vocabulary in which components declare what they fit, and how its words are told.

CONSTANTS: what a component may declare, and which kind of component does. The other tables are
the words themselves; a user's own component may add words, which are told as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable

CONSTANTS = {
    "GIVES": "the kind of problem that a stream is, or that a combinator makes for what is inside",
    "HAS": "what else a stream, a model, or a combinator for what is inside, has",
    "TAKES": "kinds of problem that it is for; of a learner, with what it predicts of each",
    "REQUIRES": "what the stream (for a learner: or the model) must have",
    "REFUSES": "what the stream (or the model, or a combinator around it) must not have or give",
    "WRONG": "settings that exclude each other, with the reason and the remedy",
    "OFFERS": "what a learner or a combinator offers to what is around it, and to metrics",
    "INSIDE": "what a combinator needs of what is inside it",
    "PASSES": "what a combinator passes on of what is inside it",
    "WARMS": "whose warm-up a combinator does: `inside`, of what is inside it; or its own, which"
    " these settings alone decide",
    "THEOREM": "the theorem that bounds a learner's regret, a row of the table in `regret`",
    "JUDGES": "predictions that a metric can judge, of every learner of the study",
    "FROM": "what a metric or an artefact needs that at least one learner offers",
    "USES": "metrics that a metric or an artefact is taken from",
    "KEEPS": "what a metric or an artefact needs the study to keep of its runs, by its key `keeps`",
    "BLANK": "what a stream has on which a metric stays empty, which `check` notes",
    "COMPARES": "keys of the study whose learner an artefact or a metric compares with",
    "VARIES": "what of a stream differs from one realisation to the next",
    "AHEAD": "what a stream uses that no learner could know yet",
}

KINDS = {
    "image": "images, each of one of several classes",
    "classes": "rows of features, each of one of several classes",
    "two-classes": "rows of features, each of one of two classes",
    "number": "rows of features, each with one real target",
    "value": "real values without inputs",
    "design": "real values with a design matrix each",
    "designs": "real values with several design matrices each",
    "counts": "counts of pairs of words",
    "word": "the counts of one word at a time",
}
PREDICTIONS = {
    "categorical": "probabilities of classes",
    "gaussian": "Gaussian densities of real values",
    "student-t": "Student's t densities of real values",
    "score": "a real score, no density",
    "pairs": "whether pairs of words occur",
}
PROPERTIES = {
    "tests": "test data",
    "earlier-tests": "test data of all tasks so far, to judge on after each task",
    "shifts": "changes that are known",
    "unknown-truth": "changes that no one knows",
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
    "mixed": "rows of several tasks at once",
    "hidden-layer": "a hidden layer",
    "learnt-noise": "a noise that is learnt",
    "convolution": "convolutions",
}
OFFERS = {
    "broaden": "a posterior that can be broadened",
    "log_evidence": "a log evidence of each hypothesis",
    "changes": "decisions about changes",
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
TOLD = KINDS | PREDICTIONS | PROPERTIES | OFFERS


def told(words: Iterable[str], join: str = "and") -> str:
    """Words as a person says them: a, b and c."""
    phrases = [TOLD.get(word, word) for word in words]
    return listed(phrases, join)


def listed(items: Iterable[str], join: str = "and") -> str:
    """Items in a sentence: a, b and c."""
    *first, last = items
    return f"{', '.join(first)} {join} {last}" if first else last
