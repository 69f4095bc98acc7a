"""How much methods depend on their settings: scores of the same random configurations.

First the share of configurations that reach each score (farquhar2020radial, Fig. 4); then, for
each setting that was drawn, the scores of the configurations with each of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shiftbench.config import components
from shiftbench.evaluation import figure_style
from shiftbench.evaluation.scoring.results import StudyResults

KIND = "figure"
CONFIGURATIONS = True

WIDTH_OF_VALUE = 0.7
"""What the points of all methods at one value of a setting take of the room between values."""


@figure_style.styled
def draw(study: StudyResults) -> Figure:
    """The figure, one row of panels a stream. UserError without configurations."""
    if not study.configurations:
        raise study.lacking("robustness", "configurations")
    names = settings(study.configurations)
    columns = figure_style.COLUMNS
    rows = -(-(1 + len(names)) // columns)
    drawn = figure_style.figure(
        2.4 * rows * len(study.streams) + 0.3, caption(study), study.budget()
    )
    panels = drawn.subplots(rows * len(study.streams), columns, squeeze=False).ravel()
    letters = iter(figure_style.letters(len(study.streams) * (1 + len(names))))
    for number, stream in enumerate(study.streams):
        own = panels[number * rows * columns : (number + 1) * rows * columns]
        _draw_shares(own[0], study, stream)
        several = f" on {stream}" if len(study.streams) > 1 else ""
        figure_style.title(
            own[0], next(letters), f"share of configurations at least as good{several}"
        )
        for panel, name in zip(own[1:], names, strict=False):
            _draw_setting(panel, study, stream, name)
            figure_style.title(panel, next(letters), name.partition(".")[2].replace("_", " "))
        for panel in own[1 + len(names) :]:
            panel.set_axis_off()
    figure_style.legend_above(drawn, panels[0])
    return drawn


def caption(study: StudyResults) -> str:
    """What the points are, on how many runs, and what is cut."""
    return (
        f"Each configuration is one random choice of all settings, the same for every method; the "
        f"score is {study.metrics[0]}. Failed runs count as worse than all others. Other panels: "
        f"each point a configuration, the line the median. {study.budget()}"
    )


def settings(configurations: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that were drawn, as component.key, in the order of the first that has each.

    Those of several components with the same key count once.
    """
    found: dict[str, str] = {}
    for point in configurations:
        for key in point:
            found.setdefault(key.partition(".")[2], key)
    return list(found.values())


def shares(scores: np.ndarray, higher_is_better: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scores from the best on, and the share of configurations that are at least as good.

    scores: [seed], NaN where a run failed; these have no place, but count among all.
    """
    known = np.sort(scores[~np.isnan(scores)])
    ordered = known[::-1] if higher_is_better else known
    return ordered, np.arange(1, len(ordered) + 1) / len(scores)


def _draw_shares(panel: Axes, study: StudyResults, stream: str) -> None:
    metric = study.metrics[0]
    better = components.constant("metrics", metric, "HIGHER_IS_BETTER")
    for learner in study.learners:
        score, share = shares(study.score(stream, learner, metric), better)
        look = figure_style.look(study, learner) | {"marker": None}
        panel.step(score, 100 * share, where="post", label=study.label(learner), **look)
    panel.set_ylim(0, 102)
    panel.set_xlabel(f"{metric} ({components.constant('metrics', metric, 'UNIT')})")
    panel.set_ylabel("configurations (%)")


def _draw_setting(panel: Axes, study: StudyResults, stream: str, name: str) -> None:
    drawn = [_value(point, name) for point in study.configurations]
    values = sorted({value for value in drawn if value is not None}, key=_order)
    width = WIDTH_OF_VALUE / len(study.learners)
    for number, learner in enumerate(study.learners):
        scores = study.score(stream, learner, study.metrics[0])
        look = figure_style.look(study, learner)
        for place, value in enumerate(values):
            mine = scores[[one == value for one in drawn]]
            mine = mine[~np.isnan(mine)]
            x = place + (number - (len(study.learners) - 1) / 2) * width
            panel.plot(np.full(len(mine), x), mine, ls="", ms=3.5, alpha=0.7, mew=0, **look)
            if len(mine):
                middle, half = np.median(mine), 0.4 * width
                panel.plot([x - half, x + half], [middle, middle], color=look["color"], lw=2.2)
    panel.set_xticks(range(len(values)), [_word(value) for value in values])
    panel.set_xlim(-0.6, len(values) - 0.4)
    panel.set_ylabel(study.metrics[0])


def _value(point: Mapping[str, Any], name: str) -> Any:
    """What a configuration says of a setting, of whichever component; None for nothing."""
    key = name.partition(".")[2]
    return next((value for known, value in point.items() if known.partition(".")[2] == key), None)


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value if isinstance(value, int | float | str) else str(value)


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
