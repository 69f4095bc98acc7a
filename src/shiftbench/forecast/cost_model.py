"""How much work a run is, counted from its spec alone: tasks, rows, steps, hypotheses, weights.

The unit is a multiplication of one weight with one row. A count says how the cost of a run grows
when its spec changes; what a unit costs is learnt from records (estimate.py).
"""

from __future__ import annotations

import hashlib
import json
import math
from itertools import pairwise
from typing import Any, NamedTuple

Spec = dict[str, Any]

FIXED = 5e6
"""Of a step, or of an update that takes none: what it costs whatever its size. With this, small
embedded studies predict best what large published ones took (benchmarks/forecast.py)."""
PREDICTING = 1 / 3
"""Of a row that is predicted, against one that is trained on, which is also differentiated."""

DATASETS = {
    "breast-cancer": (569, 30, 2),
    "diabetes": (442, 10, 1),
    "digits": (1200, 64, 10),
    "mnist": (60000, 784, 10),
    "fashion-mnist": (60000, 784, 10),
    "cifar-10": (50000, 3072, 10),
    "cifar-100": (50000, 3072, 100),
    "cifar-10-100": (50000, 3072, 60),
    "svhn": (73257, 3072, 10),
    "diabetic-retinopathy": (28101, 3 * 256**2, 2),
    "boston": (506, 13, 1),
    "california": (20640, 8, 1),
    "covertype-subset": (15120, 54, 2),
    "pima": (768, 8, 2),
    "elec2": (45312, 8, 2),
    "messidor-features": (1151, 19, 2),
    "uci-boston": (455, 13, 1),
    "uci-concrete": (927, 8, 1),
    "uci-energy": (691, 8, 1),
    "uci-kin8nm": (7373, 8, 1),
    "uci-naval": (10741, 16, 1),
    "uci-power-plant": (8611, 4, 1),
    "uci-protein": (41157, 9, 1),
    "uci-wine": (1439, 11, 1),
    "uci-yacht": (277, 6, 1),
    "nile": (100, 1, 1),
    "well-log": (4050, 1, 1),
    "simulated-ar": (600, 5, 5),
    "stationary-ar": (600, 5, 5),
}
"""Training rows, inputs and outputs of data sets, where settings of the stream do not say."""
UNKNOWN = (1000, 10, 1)
PERIODS, WORDS = 50, 2000
"""Of texts, where settings do not say."""
BLOCK, CONTEXTS, DIMENSIONS = 64, 100, 20
"""Words that are fitted at once, contexts of each, and numbers that stand for it."""
SAMPLED = 0.47
"""Of a convolution whose weights are drawn once a minibatch, against Flipout, whose noise is
multiplied beside the mean: 91 and 191 ms a step of li2021vbs' network (docs/paper-hours.md)."""
NATIVE = 1.8
"""How many times as fast large networks train with all instructions of a processor."""
ONE_ROW = ("tabular", "series", "series-file", "electricity", "toy-step", "table-file")
"""Families whose tasks are single rows, or a few."""

GROWING = {"beam": ("size", 2), "run-length": ("keep", 1), "learned-prior": ("keep", 1)}
"""What keeps more hypotheses after each task: the setting of how many, and updates of each."""
ENSEMBLES = {"ensemble": "size"}


class Sizes(NamedTuple):
    """Of a stream: tasks, training rows of each, test rows, rows before it, inputs, outputs."""

    tasks: int
    rows: int
    tests: int
    before: int
    inputs: int
    outputs: int


def fingerprint(told: list[Any]) -> str:
    """A short text for values that decide a cost, equal where they are."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def of_run(spec: Spec) -> float:
    """The work of a run: of all its seeds and tasks, and of a warm-up that it does not share."""
    *combinators, (_, settings) = spec["learner"]
    sizes = of_stream(spec["stream"])
    side, one_by_one = _hypotheses(combinators, sizes.tasks)
    seeds = spec["seeds"][1] - spec["seeds"][0] + 1
    rows = sizes.rows
    if any(name == "joint" for name, _ in combinators):  # it learns from all tasks so far
        rows = rows * (sizes.tasks + 1) // 2
    width = multiplications(spec["model"], sizes) * _drawn(spec["model"], settings)
    if spec.get("instructions") == "native":
        width /= NATIVE
    task = _learning(settings, rows, seeds * side, width)
    task += _judging(settings, rows, sizes.tests * (1 + sizes.tasks / 2), seeds * side, width)
    return sizes.tasks * one_by_one * task


def of_warm_up(spec: Spec) -> float:
    """The work of a warm-up that several runs share."""
    sizes = of_stream(spec["stream"])
    seeds = spec["seeds"][1] - spec["seeds"][0] + 1
    settings = spec["component"][2]
    width = multiplications(spec["model"], sizes) * _drawn(spec["model"], settings)
    return _learning(settings, sizes.before or sizes.rows, seeds, width)


def of_stream(source: Spec) -> Sizes:
    """The sizes of a stream, from its settings, or else those of its data set."""
    given = source["settings"]
    if "window" in given or "vocabulary_size" in given:
        return _of_words(given)
    rows, inputs, outputs = DATASETS.get(given.get("dataset", ""), UNKNOWN)
    if str(given.get("dataset", "")).startswith("simulated-"):
        rows, inputs = given.get("simulated_rows", rows), given.get("simulated_features", inputs)
    if given.get("dataset") == "diabetic-retinopathy":
        inputs = 3 * given["size"] ** 2
    rows = given.get("rows") or rows
    if source["family"] in ONE_ROW:
        tasks = given.get("points") or rows
        return Sizes(tasks, given.get("rows_per_task", 1), 0, 0, inputs, outputs)
    share = given.get("classes_per_task", outputs) / outputs  # of the data set, in one task
    tasks = given.get("tasks") or given.get("periods") or given.get("repeats") or round(1 / share)
    per_task = given.get("train_per_task") or given.get("images") or given.get("documents")
    per_task = per_task or round(rows * share)
    before = (given.get("warm_up_size") or rows) if given.get("warm_up") else 0
    return Sizes(tasks, per_task, given.get("test_size", 0), before, inputs, outputs)


def _of_words(given: Spec) -> Sizes:
    """Of words by period: each block of words that is fitted at once counts as a task."""
    planted = given.get("themes", 0) * given.get("words_per_theme", 0) + given.get(
        "common_words", 0
    )
    years = given.get("last_year", 0) - given.get("first_year", 0) + 1
    known = given.get("periods") or (years if years > 1 else PERIODS)
    periods = max(1, known // given.get("period_years", 1))
    blocks = math.ceil((given.get("vocabulary_size") or planted or WORDS) / BLOCK)
    return Sizes(periods * blocks, BLOCK * CONTEXTS, 0, 0, DIMENSIONS, 1)


def multiplications(model: list[Any] | None, sizes: Sizes) -> float:
    """Multiplications of a network for one row; of no network, those of a linear predictor."""
    if model is None:
        return float(sizes.inputs * sizes.outputs)
    settings = model[1]
    if "filters" in settings:
        return _convolutions(settings, sizes)
    widths = [sizes.inputs, *settings.get("hidden", ()), sizes.outputs]
    return float(sum(a * b for a, b in pairwise(widths)))


def _drawn(model: list[Any] | None, settings: Spec) -> float:
    """What a draw of a network's weights costs, against one by Flipout."""
    convolves = model is not None and "filters" in model[1]
    return SAMPLED if convolves and settings.get("estimator") == "sample" else 1.0


def _convolutions(settings: Spec, sizes: Sizes) -> float:
    """Of layers of 3x3 filters, two to each entry of `filters`, which halve both sides after."""
    channels = 3 if 3 * math.isqrt(sizes.inputs // 3) ** 2 == sizes.inputs else 1
    side = math.isqrt(sizes.inputs // channels)
    total = 0.0
    for filters in settings["filters"]:
        total += side * side * 9 * (channels * filters + filters * filters)
        channels, side = filters, max(1, side // 2)
    widths = [channels * side * side, *settings.get("hidden", ()), sizes.outputs]
    return total + sum(a * b for a, b in pairwise(widths))


def _hypotheses(combinators: list[Any], tasks: int) -> tuple[int, int]:
    """How many are updated side by side, and how many one after the other."""
    side = one_by_one = 1
    for name, settings in combinators:
        key, updates = GROWING.get(name, ("", 1))
        kept = updates * min(settings.get(key, 1), max(tasks, 1))
        kept *= settings.get(ENSEMBLES.get(name, ""), 1)
        if settings.get("fits") == "sequential":
            one_by_one *= kept
        else:
            side *= kept
    return side, one_by_one


def _learning(settings: Spec, rows: int, networks: int, width: float) -> float:
    """The work of an update on one task."""
    draws = settings.get("draws", 1)
    if "epochs" not in settings:
        newton = settings.get("method") == "newton"  # which takes iterations, and no steps
        steps = settings.get("iterations" if newton else "steps", 1)
        return steps * (FIXED + draws * rows * networks * width)
    batch = min(settings.get("batch_size", rows), rows)
    epochs = settings["epochs"] + settings.get("pretraining_epochs", 0)
    steps = epochs * math.ceil(rows / max(batch, 1))
    return steps * (FIXED + batch * networks * width * draws)


def _judging(settings: Spec, rows: int, tests: float, networks: int, width: float) -> float:
    """The work of an ELBO after a task, and of the predictions for the tests of all so far."""
    draws = max(settings.get("prediction_draws", 1), 1)
    judged = settings.get("elbo_draws", 0) * rows + draws * tests
    return PREDICTING * judged * networks * width
