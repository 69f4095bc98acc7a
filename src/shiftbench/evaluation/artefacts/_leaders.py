"""Which methods lead by their average accuracy after the last task, beside bounds.

A bound sees more than the others, such as the data of all tasks at once. Figures show bounds and do
not rank them.
"""

from __future__ import annotations

import numpy as np

from shiftbench.evaluation import highlights
from shiftbench.evaluation.artefacts import _best, _continual
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults


def scores(study: StudyResults, stream: str) -> dict[str, np.ndarray]:
    """Return the average accuracy of each method over tasks, in percent [seed], or NaN."""
    return {name: _continual.average(study, stream, name) for name in study.methods}


def averages(study: StudyResults, stream: str) -> dict[str, float]:
    """Return the mean over seeds of `scores`; NaN where all failed."""
    return {name: statistics.interval(of).mean for name, of in scores(study, stream).items()}


def bounds(study: StudyResults, stream: str) -> list[str]:
    """Return the bounds with runs on a stream."""
    return [name for name in study.bounds if study.run(stream, name).sizes["seed"]]


def order(study: StudyResults, stream: str) -> list[str]:
    """Return the methods by their averages, best first, without bounds and failed ones."""
    ranked = _best.ranked(study, averages(study, stream))
    return highlights.leaders(ranked, len(ranked))


def message(study: StudyResults, stream: str) -> str:
    """Say which method has the largest average accuracy, beside the bounds."""
    found, best = averages(study, stream), order(study, stream)
    if not best:
        return f"{stream}: no method has an accuracy"
    tasks = study.streams[stream].sizes["task"]
    after = f"{stream}: after {tasks} task{'s' if tasks > 1 else ''}"
    leads = said(f"{after}, {study.label(best[0])}", len(best), found[best[0]])
    others = _best.others(study, scores(study, stream), best[:1])
    return f"{leads}{reference(study, stream)}{others}"


def messages(study: StudyResults) -> str:
    """Return the sentences on all streams, with a space at the end."""
    return "".join(f"{message(study, stream)}. " for stream in study.streams)


def said(subject: str, methods: int, percent: float) -> str:
    """Return the sentence on the largest average accuracy, or on that of the only method."""
    if methods > 1:
        return f"{subject} has the largest average accuracy of {methods} methods, {percent:.1f} %"
    return f"{subject} has an average accuracy of {percent:.1f} %"


def reference(study: StudyResults, stream: str) -> str:
    """Return the averages of the bounds in brackets; empty without any."""
    found, shown = averages(study, stream), []
    for name in bounds(study, stream):
        alone = ", each task just learnt" * _continual.forgets(study, stream, name)
        shown.append(f"{study.label(name)}{alone}: {found[name]:.1f} %")
    return f" ({'; '.join(shown)})" if shown else ""
