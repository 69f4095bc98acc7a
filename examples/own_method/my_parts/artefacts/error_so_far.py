"""Mean squared error of the last rows, which rises at a change and falls again."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(uses=("squared_error",))

WINDOW = 10


def draw(study: StudyResults) -> Figure:
    """Draw one panel per stream with a line per method."""
    figure = figure_style.figure(3.0, caption(study), study.basis())
    panels = figure.subplots(1, len(study.streams), squeeze=False)[0]
    for panel, stream in zip(panels, study.streams, strict=True):
        for method in study.methods:
            errors = np.nanmean(study.by_task(stream, method, "squared_error"), axis=0)
            means = np.convolve(errors, np.ones(WINDOW) / WINDOW, "valid")
            rows = np.arange(len(means)) + WINDOW
            style = figure_style.method_style(study, method)
            panel.plot(rows, means, label=study.label(method), **style, markevery=40)
        panel.set(title=stream, xlabel="row", ylabel="squared error", yscale="log")
        panel.legend()
    return figure


def caption(study: StudyResults) -> str:
    """Describe the lines and the number of runs."""
    return f"Squared error of predictions, mean of the last {WINDOW} rows. {study.basis()}"
