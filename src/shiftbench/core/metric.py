"""The description of a metric: its name, unit, stage and function, and the streams that it fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from shiftbench.core.facts import Facts

Stage = Literal["before", "after", "run"]
Better = Literal["higher", "lower"] | None


@dataclass(frozen=True, kw_only=True)
class Metric(Facts):
    """One metric of a module's `METRICS`, with the facts of what it fits.

    Parameters
    ----------
    name
        Its name in configs and results.
    about
        One sentence for the reference page and the site.
    unit
        The unit of a score, such as "fraction" or "nats per row".
    better
        "higher", "lower", or None where neither is better.
    stage
        "before": of the prediction before a task is learnt from. "after": of the prediction of
        test data after the task. "run": of the finished run.
    score
        `score(predictive, batch)` for "before" and "after", `score(run, stream)` for "run";
        with `reference` in `study`, the run of the method compared with, or None, comes third. It
        returns one number a seed [S], NaN where there is none.
    bounds
        Lowest and highest possible score. Confidence intervals stay between them.

    Raises
    ------
    ValueError
        For a name, a stage or a direction that does not exist.
    """

    name: str = field(kw_only=False)
    about: str
    unit: str
    better: Better
    stage: Stage
    score: Callable[..., Any]
    bounds: tuple[float | None, float | None] = (None, None)

    @property
    def higher_is_better(self) -> bool | None:
        """True if a higher score is better, False if a lower one, None for neither."""
        return None if self.better is None else self.better == "higher"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.name.isidentifier() and self.name == self.name.lower()):
            raise ValueError(f'"{self.name}" is not a name for a metric; write it like a variable')
        if self.stage not in get_args(Stage):
            raise ValueError(f"stage is {self.stage!r}; it is one of 'before', 'after', 'run'")
        if self.better not in ("higher", "lower", None):
            raise ValueError(f"better is {self.better!r}; it is one of 'higher', 'lower', None")
