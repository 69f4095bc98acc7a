"""The work of a run, counted from its spec alone: tasks, rows, steps, hypotheses, weights.

The unit is a multiplication of one weight with one row. A count says how the cost of a run grows
when its spec changes; what a unit costs is learnt from records (estimate.py). A combinator says
what it does to the problem inside it, by a plain function `work(settings, problem)`.
"""

from __future__ import annotations

import hashlib
import json
import math
from itertools import pairwise
from typing import Any

from shiftbench.config import components
from shiftbench.config.spec_files import Spec
from shiftbench.config.stream_sizes import DIMENSIONS, Sizes, of_stream

FIXED = 5e6
"""Fixed work of a step, or of an update without steps. With this value, costs of small embedded
studies predict best the costs of large published ones (perf/forecast.py)."""
PREDICTING = 1 / 3
"""Work of predicting a row relative to training on it, which also takes gradients."""

SAMPLED = 0.47
"""Work of a convolution whose weights are drawn once a minibatch, relative to Flipout, whose noise
is multiplied beside the mean: 91 and 191 ms a step of li2021vbs' network (docs/paper-hours.md)."""
NATIVE = 1.8
"""Speed of large networks with all instructions of a processor, relative to portable ones."""


def fingerprint(values: list[Any]) -> str:
    """Return a short text for values that decide a cost, equal where they are."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def of_run(spec: Spec) -> float:
    """Return the work of a run over all its seeds and tasks, without a warm-up."""
    *combinators, (_, settings) = spec["learner"]
    sizes = of_stream(spec["stream"])
    for name, given in combinators:
        sizes = _with_vectors(given, sizes)
        if work := components.work("combinators", name):
            sizes = work(given, sizes)
    networks = (spec["seeds"][1] - spec["seeds"][0] + 1) * sizes.at_once
    width = multiplications(spec["model"], sizes) * _drawn(spec["model"], settings)
    if spec.get("instructions") == "native":
        width /= NATIVE
    task = _learning(settings, sizes.rows, networks, width)
    task += _judging(settings, sizes.rows, sizes.tests * (1 + sizes.tasks / 2), networks, width)
    return sizes.tasks * sizes.in_turn * task


def of_warm_up(spec: Spec) -> float:
    """Return the work of a warm-up that several runs share."""
    sizes = of_stream(spec["stream"])
    seeds = spec["seeds"][1] - spec["seeds"][0] + 1
    settings = spec["component"][2]
    width = multiplications(spec["model"], sizes) * _drawn(spec["model"], settings)
    return _learning(settings, sizes.before or sizes.rows, seeds, width)


def _with_vectors(given: Spec, sizes: Sizes) -> Sizes:
    """Return the sizes, with more tasks where word vectors are long, because each fit costs more.

    With 5 times as many numbers a fit took 9.5 times as long, with 2,000 words and with 8,000.
    """
    longer = max(1.0, (given.get("dimension", DIMENSIONS) / DIMENSIONS) ** 1.4)
    return sizes._replace(tasks=round(sizes.tasks * longer))


def multiplications(model: list[Any] | None, sizes: Sizes) -> float:
    """Return the multiplications of a network, or else of a linear predictor, for one row."""
    if model is None:
        return float(sizes.inputs * sizes.outputs)
    settings = model[1]
    if "filters" in settings:
        return _convolutions(settings, sizes)
    widths = [sizes.inputs, *settings.get("hidden", ()), sizes.outputs]
    return float(sum(a * b for a, b in pairwise(widths)))


def _drawn(model: list[Any] | None, settings: Spec) -> float:
    """Return the cost of a draw of a network's weights, relative to one by Flipout."""
    convolves = model is not None and "filters" in model[1]
    return SAMPLED if convolves and settings.get("estimator") == "sample" else 1.0


def _convolutions(settings: Spec, sizes: Sizes) -> float:
    """Return the multiplications of 3x3 filters, two layers an entry, which halve the sides."""
    side, _, channels = sizes.image_shape
    total = 0.0
    for filters in settings["filters"]:
        total += side * side * 9 * (channels * filters + filters * filters)
        channels, side = filters, max(1, side // 2)
    widths = [channels * side * side, *settings.get("hidden", ()), sizes.outputs]
    return total + sum(a * b for a, b in pairwise(widths))


def _learning(settings: Spec, rows: int, networks: int, width: float) -> float:
    """Return the work of an update on one task."""
    draws = settings.get("draws", 1)
    if "epochs" not in settings:
        newton = settings.get("method") == "newton"  # it has iterations instead of steps
        steps = settings.get("iterations" if newton else "steps", 1)
        return steps * (FIXED + draws * rows * networks * width)
    batch = min(settings.get("batch_size", rows), rows)
    epochs = settings["epochs"] + settings.get("pretraining_epochs", 0)
    steps = epochs * math.ceil(rows / max(batch, 1))
    return steps * (FIXED + batch * networks * width * draws)


def _judging(settings: Spec, rows: int, tests: float, networks: int, width: float) -> float:
    """Return the work of an ELBO after a task, and of predicting the tests of all tasks so far."""
    draws = max(settings.get("prediction_draws", 1), 1)
    judged = settings.get("elbo_draws", 0) * rows + draws * tests
    return PREDICTING * judged * networks * width
