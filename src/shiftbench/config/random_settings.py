"""Configurations: settings drawn at random for each seed, to see how much methods depend on them.

Seed s of every method has configuration s of the study, so that methods are compared on the same
configurations (farquhar2020radial, 4.1.3 and D.1). A method ignores the settings of components that
it does not have. Settings that fit only with some others have a space of their own, and each
configuration comes from one of the spaces.
"""

from __future__ import annotations

import random

from shiftbench.config import tuning
from shiftbench.config.schema import Component, Study
from shiftbench.config.tuning import Point


def points(name: str, study: Study) -> list[Point]:
    """Return the configuration of each seed; empty for a study without configurations."""
    return [_drawn(name, study, seed) for seed in range(study.seeds if study.configurations else 0)]


def pipeline(name: str, study: Study, method: str, seed: int) -> list[Component]:
    """Return the pipeline of a method for a seed."""
    return tuning.applied(study.pipelines[method], point(name, study, method, seed))


def point(name: str, study: Study, method: str, seed: int) -> Point:
    """Return the part of a seed's configuration that is about components of a method."""
    if not study.configurations:
        return {}
    components = dict(study.pipelines[method])
    drawn = _drawn(name, study, seed)
    return {key: value for key, value in drawn.items() if key.partition(".")[0] in components}


def _drawn(name: str, study: Study, seed: int) -> Point:
    # Not NumPy's generator: planning should not need NumPy, which is slow to import.
    chooser = random.Random(f"configuration {name} {seed}")
    space = chooser.choice(study.configurations)
    return {key: chooser.choice(values) for key, values in space.items()}
