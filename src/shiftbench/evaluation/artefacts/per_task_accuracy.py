"""Accuracy on each task after the last one, and its average.

Fig. 5 of eschenhagen2019vogn, with a column per task and a row per learner in place of groups of
bars, so that up to sixteen learners are identified by their names.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from shiftbench.core.facts import Facts
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.artefacts import _continual
from shiftbench.evaluation.scoring import statistics
from shiftbench.evaluation.scoring.results import StudyResults

FACTS = Facts(requires=("earlier-tests",), uses=("accuracy",))


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """Draw one block per stream. Raises UserError without accuracies."""
    _continual.check(study, "per-task-accuracy")
    height = 1.0 + 0.21 * len(study.learners)
    figure = figure_style.figure(height * len(study.streams), caption(study), study.budget())
    for stream, block in _continual.blocks(figure, study):
        _draw_stream(block, study, stream)
    return figure


def caption(study: StudyResults) -> str:
    """Describe the figure, the number of runs and the reductions."""
    return (
        "Accuracy on the test data of each task after the last task, and the average over tasks: "
        f"mean over seeds, bars: {statistics.described(_continual.METRIC)}"
        f"{_continual.diamonds(study)}{_lines(study)}. "
        f"{_continual.from_scratch(study)}{study.budget()}"
    )


def _draw_stream(block: SubFigure, study: StudyResults, stream: str) -> None:
    ends = {name: _continual.at_end(study, stream, name) for name in study.learners}
    tasks = study.streams[stream].sizes["task"]
    panels = block.subplots(1, tasks + 1, sharey=True, width_ratios=[*[1] * tasks, 1.6])
    for task, axes in enumerate(panels[:-1]):
        _draw_column(study, axes, {name: each[:, task] for name, each in ends.items()})
        axes.set_title(f"task {task + 1}", size=8.5)
    average = panels[-1]
    _draw_column(study, average, {name: each.mean(axis=1) for name, each in ends.items()})
    average.set_title("average", size=8.5, fontweight="bold")
    paper = _continual.published_averages(study, stream)
    for row, name in enumerate(study.learners):
        if name in paper:
            average.plot(paper[name], row, **_continual.PAPER, ms=4.5, zorder=4)
    means = {name: 100 * _continual.mean_over_seeds(values) for name, values in ends.items()}
    _draw_reference(panels, study, stream, means)
    values = np.concatenate([*means.values(), [*paper.values()]])
    for axes in panels:
        _continual.scale(axes, "x", values, space=0.28)
    panels[0].set_yticks(range(len(ends)), [study.label(name) for name in ends])
    panels[0].set_ylim(len(ends) - 0.5, -0.5)
    block.supxlabel("accuracy (%), on the logarithm of the error", size=9)


def _draw_column(study: StudyResults, axes: Axes, scores: dict[str, np.ndarray]) -> None:
    """Draw the mean of each learner's scores [seed] in percent, in its row."""
    within = statistics.bounds(_continual.METRIC)
    for row, (name, values) in enumerate(scores.items()):
        of_seeds = statistics.interval(values, within).times(100)
        bars, style = figure_style.error_bars(of_seeds), figure_style.method_style(study, name)
        axes.errorbar(of_seeds.mean, row, xerr=bars, **style, ls="none", ms=3, elinewidth=1)
    axes.grid(axis="y", color="0.93", lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def _draw_reference(
    panels: np.ndarray, study: StudyResults, stream: str, means: dict[str, np.ndarray]
) -> None:
    """Draw the means [task] of the first learner that trains from scratch, if any."""
    for name, mean in means.items():
        if not np.isnan(mean).all() and _continual.forgets(study, stream, name):
            for axes, value in zip(panels, [*mean, mean.mean()], strict=True):
                axes.axvline(value, color=figure_style.MUTED, lw=0.8, ls=":", zorder=0)
            return


def _lines(study: StudyResults) -> str:
    """Return the caption's clause on the vertical lines; empty if there are none."""
    has_lines = any(
        _continual.forgets(study, stream, name) and len(study.run(stream, name)["seed"])
        for stream in study.streams
        for name in study.learners
    )
    words = "; vertical lines: the first learner that starts each task from scratch"
    return words if has_lines else ""
