"""Metrics in words, for sentences and axes; their names are for configs and files."""

from __future__ import annotations

WORDS = {
    "acc": "average accuracy",
    "alarm_area": "area under the alarm curve",
    "auc": "AUC",
    "bwt": "backward transfer",
    "crps": "CRPS",
    "ece": "calibration error",
    "f1": "F1",
    "fwt": "forward transfer",
    "nll": "negative log likelihood",
    "plasticity": "accuracy while learning",
    "rmse": "root mean square error",
    "run_length_fdr": "false discovery rate of run lengths",
    "share_error": "error of the share",
}
"""Metrics whose names are abbreviations, or say less than the words."""


def words(metric: str) -> str:
    """Return a metric in words."""
    return WORDS.get(metric, metric.replace("_", " "))
