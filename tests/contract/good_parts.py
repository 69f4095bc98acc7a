"""Good parts from the documentation and two more, of which the faulty ones are copies."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.checkout import ROOT
from tests.test_own_components import NEAREST_MEAN

DOCUMENT = ROOT / "CONTRIBUTING.md"


class Fault(NamedTuple):
    """Replacements in a good part, and words of the expected message."""

    old: str
    new: str
    said: str
    more: tuple[str, str] = ("", "")
    most: tuple[str, str] = ("", "")

    def apply(self, text: str) -> str:
        """Return the text of a good part with this fault."""
        for old, new in ((self.old, self.new), self.more, self.most):
            assert old in text, f"{old!r} is not in the good part"
            text = text.replace(old, new, 1) if old else text
        return text


def documented(name: str) -> str:
    """Return the text of a part of the documentation."""
    (text,) = re.findall(rf"```python\n(# src/\S+/{name}\n.+?)```", DOCUMENT.read_text(), re.DOTALL)
    return text


LAST_VALUE = documented("last_value.py")
RANDOM_WALK = documented("random_walk.py")
SCORE_OVER_TIME = documented("score_over_time.py")
AT_THE_END = documented("last_tasks.py").replace("log_predictive_at_end", "NAME")
SQUARED_ERROR = '''\
"""A metric of each prediction."""

import numpy as np

from shiftbench.core.metric import Metric


def score(predictive, batch):
    """Return the mean squared error [S] over the rows that are seen."""
    weights = np.exp(predictive.log_weights)[..., None, None]
    mean = (weights * predictive.mean).sum(axis=1)
    errors = ((mean - batch.targets) ** 2).mean(axis=-1)
    return np.where(batch.mask, errors, 0).sum(axis=1) / batch.mask.sum(axis=1)


METRICS = [
    Metric(
        "NAME",
        about="Mean squared error of each row.",
        unit="1",
        better="lower",
        stage="before",
        judges=("gaussian", "student-t"),
        score=score,
        bounds=(0.0, None),
    )
]
'''
GOOD = {
    "learners": {"last-value": LAST_VALUE, "nearest-mean": NEAREST_MEAN},
    "streams": {"random-walk": RANDOM_WALK},
    "metrics": {"mean_error": SQUARED_ERROR, "at_the_end": AT_THE_END},
    "artefacts": {"score-over-time": SCORE_OVER_TIME},
}
