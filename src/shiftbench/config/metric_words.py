"""Metrics in words, for sentences and axes; their names are for configs and files."""

from __future__ import annotations

WORDS = {
    "acc": "average accuracy",
    "alarm_area": "area under the alarm curve",
    "auc_at_10": "AUC with 10 % referred",
    "bwt": "backward transfer",
    "fwt": "forward transfer",
    "k_hat": "k-hat",
    "log_predictive": "log predictive density",
    "n_changepoints": "number of changepoints",
    "nll": "negative log likelihood",
    "pit_distance": "distance of the PIT from uniform",
    "plasticity": "average online accuracy",
    "rmse": "root mean square error",
    "run_length_fdr": "false discovery rate of run lengths",
    "share_error": "absolute error of the predicted share",
}
"""Metrics whose names are not words of a sentence."""
ABBREVIATIONS = {
    "auc": "AUC", "crps": "CRPS", "ece": "calibration error", "elbo": "ELBO", "f1": "F1",
    "ood": "out-of-distribution",
}  # fmt: skip
"""Parts of names of metrics, and how sentences write them."""


def words(metric: str) -> str:
    """Return a metric in words."""
    parts = metric.split("_")
    return WORDS.get(metric, " ".join(ABBREVIATIONS.get(part, part) for part in parts))


def opening(metric: str) -> str:
    """Return a metric in words that begin a sentence."""
    text = words(metric)
    return text[:1].upper() + text[1:]
