"""Configurations: settings drawn at random for each seed, to see how much a method depends on them.

Seed s of every method has configuration s of the study, so that methods are compared on the same
ones (farquhar2020radial, 4.1.3 and D.1); a setting of a component that a method does not have
passes it by. Settings that go with some others only stand in a space of their own, and each
configuration comes from one of the spaces.
"""

from __future__ import annotations

import random

from shiftbench.config import tuning
from shiftbench.config.schema import Component, Study
from shiftbench.config.tuning import Point


def points(name: str, study: Study) -> list[Point]:
    """The configuration of each seed; nothing where the study has none."""
    return [_drawn(name, study, seed) for seed in range(study.seeds if study.configurations else 0)]


def learner(name: str, study: Study, variant: str, seed: int) -> list[Component]:
    """The pipeline of a variant for a seed."""
    pipeline = study.pipelines[variant]
    return tuning.applied(pipeline, point(name, study, variant, seed))


def point(name: str, study: Study, variant: str, seed: int) -> Point:
    """What the seed's configuration says of the components of a variant."""
    if not study.configurations:
        return {}
    known = dict(study.pipelines[variant])
    drawn = _drawn(name, study, seed)
    return {key: value for key, value in drawn.items() if key.partition(".")[0] in known}


def _drawn(name: str, study: Study, seed: int) -> Point:
    # Not NumPy's generator: every job parses the plan, and NumPy is slow to import.
    chooser = random.Random(f"configuration {name} {seed}")
    space = chooser.choice(study.configurations)
    return {key: chooser.choice(tried) for key, tried in space.items()}
