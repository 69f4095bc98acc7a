"""Golden bytes: the exact results of a tiny run of every learner and combinator.

    python -m tests.golden

writes golden.json again. For each array of a run, in temporal order, the file holds the type, the
shape, a digest of the bytes, and the means of up to eight blocks of the flattened array. The means
show by how much two machines differ. They are rounded once, from the exact sum, and are therefore
the same everywhere; they leave out non-finite values.

The sizes are large enough for libraries to use vector instructions: with 4 features and 6 units,
numbers agree by luck. Data are rounded to multiples of 1/64, so that they do not depend on how
the generator computes logarithms.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shiftbench.config import components
from shiftbench.contract.problems import CASES, Parts, key, settings
from shiftbench.core import instructions
from shiftbench.core.interface import Batch, Learner, Problem

FILE = Path(__file__).with_name("golden.json")
TASKS, BLOCKS = 2, 8
SMALL = 1e-6
"""Arrays whose block means are all smaller than this may contain only rounding errors."""
PARTS = Parts(features=64, hidden=50, rows=48, regressors=16, points=24, words=40)
IMAGES = Problem("classification", (8, 8, 1), 3, PARTS.rows, TASKS)
TWO_CLASSES = Problem("classification", (64,), 2, PARTS.rows, TASKS)
ROBUST = {"beta_p": 0.1, "beta_rlm": 0.1, "window": 10}
VADAM = {"curvature": "minibatch", "preconditioner": "root", "momentum_kind": "gradient"}
IVON = {"curvature": "reparameterised", "momentum": 0.9, "momentum_kind": "likelihood", "draws": 1}
IVON |= {"initial_precision": (1.0,), "start": "prior"}

Case = Callable[[], tuple[Learner, Problem]]
Golden = dict[str, dict[str, Any]]


def of_images(name: str, **fields: Any) -> tuple[Learner, Problem]:
    """Return the learner on a convolutional network."""
    convnet = components.load("models", "convnet")
    model = convnet.build(convnet.Settings(filters=(4, 8)), IMAGES)
    made = settings("learners", name, **fields)
    return components.load("learners", name).build(made, IMAGES, model), IMAGES


def of_two_classes(name: str) -> tuple[Learner, Problem]:
    """Return the online learner on two classes, with the hinge loss if it has one."""
    made = settings("learners", name)
    return components.load("learners", name).build(made, TWO_CLASSES), TWO_CLASSES


def over(combinator: str, name: str, **fields: Any) -> tuple[Learner, Problem]:
    """Return the combinator around the named learner."""
    learner, problem = PARTS.learner(name, **fields)
    module = components.load("combinators", combinator)
    return module.build(settings("combinators", combinator), problem, learner), problem


def detecting(detector: str, threshold: float) -> tuple[Learner, Problem]:
    """Return the detector on standardised errors of an exact regression with 120 rows per task."""
    learner, problem = replace(PARTS, points=120).learner("linear-gaussian")
    fields = {"detector": detector, "threshold": threshold, "signal": "standardised"}
    module = components.load("combinators", "detect")
    return module.build(settings("combinators", "detect", **fields), problem, learner), problem


RUNS: dict[str, Case] = {f"{kind}/{name}": partial(PARTS.case, kind, name) for kind, name in CASES}
RUNS |= {
    # Settings that trigger rare steps or keep the run quick.
    "combinators/run-length": partial(PARTS.combined, "run-length", keep=5),
    "combinators/detect": partial(PARTS.combined, "detect", threshold=3.0),
    "learners/control-chart": partial(PARTS.learner, "control-chart", first=10, threshold=1.5),
    "learners/page-hinkley": partial(PARTS.learner, "page-hinkley", first=10, threshold=3.0),
    "learners/beta-hmc": partial(replace(PARTS, points=8).learner, "beta-hmc"),
    "learners/gibbs-grid": partial(replace(PARTS, regressors=2).learner, "gibbs-grid"),
    "settings/bayes-linear-robust": partial(PARTS.learner, "bayes-linear", **ROBUST),
    "settings/bayes-linear-svrg": partial(
        PARTS.learner, "bayes-linear", optimiser="svrg", **ROBUST
    ),
    "settings/bayes-linear-sgd": partial(PARTS.learner, "bayes-linear", optimiser="sgd", **ROBUST),
    "settings/control-chart-shiryaev-roberts": partial(
        PARTS.learner, "control-chart", statistic="shiryaev-roberts", detects="coefficient", first=9
    ),
    "settings/bong-diagonal": partial(PARTS.learner, "bong", rank=0, batch_size=5),
    "settings/bong-full": partial(
        replace(PARTS, features=16, hidden=6).learner, "bong", rank=1000, gain="natural"
    ),
    "settings/coreset-k-center": partial(PARTS.combined, "coreset", method="k-center"),
    "settings/dsm-mean": partial(PARTS.learner, "dsm", learns="mean"),
    "settings/linear-gaussian-wolf": partial(
        PARTS.learner, "linear-gaussian", weight="imq", threshold=1.0
    ),
    "settings/online-logistic-two-classes": partial(of_two_classes, "online-logistic"),
    "settings/fromp-random": partial(PARTS.learner, "fromp", memory="random"),
    "settings/fsvi-full": partial(
        PARTS.learner, "fsvi", covariance="full", context="minibatch", estimator="flipout"
    ),
    "settings/detect-adwin": partial(detecting, "adwin", 1.0),
    "settings/detect-focus": partial(detecting, "focus", 4.0),
    "settings/detect-jumper": partial(detecting, "jumper", 1.0),
    "settings/detect-kswin": partial(detecting, "kswin", 0.3),
    "settings/map-distil": partial(PARTS.learner, "map", distil=0.5),
    "settings/map-kronecker": partial(
        PARTS.learner, "map", curvature="kronecker", biases="penalised"
    ),
    "settings/map-laplace-last": partial(
        PARTS.learner, "map", prediction="laplace-last", importance="none"
    ),
    "settings/map-path": partial(PARTS.learner, "map", importance="path"),
    "settings/map-dropout": partial(PARTS.learner, "map", dropout=0.5, prediction_draws=2),
    "settings/map-probit": partial(
        PARTS.learner, "map", prediction="laplace-last", importance="none", prediction_draws=0
    ),
    "settings/map-swag": partial(
        PARTS.learner, "map", prediction="swag", importance="none", epochs=4, swag_epochs=3
    ),
    "settings/mfvi-convnet": partial(of_images, "mfvi", draws=1),
    "settings/mfvi-gvcl-merged": partial(
        PARTS.learner, "mfvi", kl_weight=0.2, anchor_weight=10.0, merge=0.5, start="means"
    ),
    "settings/mfvi-local": partial(
        PARTS.learner, "mfvi", draws=2, estimator="local", biases="gaussian"
    ),
    "settings/mfvi-radial": partial(
        PARTS.learner, "mfvi", draws=2, estimator="sample", family="radial"
    ),
    "settings/plastic-shrunk": partial(PARTS.learner, "plastic", renewal="shrink-perturb"),
    "settings/plastic-units": partial(PARTS.learner, "plastic", rate=0.3, maturity=2),
    "settings/plastic-upgd": partial(PARTS.learner, "plastic", renewal="upgd"),
    "settings/rehearsal-a-gem": partial(
        PARTS.learner, "rehearsal", loss="a-gem", memory="reservoir"
    ),
    "settings/rehearsal-der": partial(PARTS.learner, "rehearsal", loss="der++"),
    **{
        f"settings/{name}-kronecker": partial(
            over, name, "map", curvature="kronecker", biases="penalised"
        )
        for name in ("beam", "forget", "reset", "run-length")
    },
    "settings/run-length-of-rows": partial(over, "run-length", "bayes-linear", **ROBUST),
    "settings/sgld-draws": partial(PARTS.learner, "sgld", prior="draws"),
    "settings/skipgram-adam": partial(PARTS.learner, "skipgram", method="adam", steps=20),
    "settings/skipgram-correlated": partial(PARTS.learner, "skipgram", intraclass_correlation=0.1),
    **{
        f"settings/{name}-network": partial(PARTS.learner, name, hidden=8, loss_draws=4)
        for name in ("oga-el", "sva", "svb", "ngvi")
    },
    "settings/oga-network": partial(PARTS.learner, "oga", hidden=8),
    "settings/mfvi-cold": partial(PARTS.learner, "mfvi", kl_weight=0.1, start="means"),
    "settings/mfvi-tweaked": partial(
        PARTS.learner, "mfvi", family="truncated", optimiser="amsgrad", held_back=0.25
    ),
    "settings/mfvi-sgd": partial(PARTS.learner, "mfvi", optimiser="sgd", learning_rate_decay=0.9),
    "settings/beam-learnt-in-turn": partial(
        PARTS.combined, "beam", prior_tasks=2.0, fits="sequential"
    ),
    "settings/soft-reset-gradient": partial(
        PARTS.combined, "soft-reset", choice="gradient", difference=0.1
    ),
    "settings/soft-reset-grid": partial(PARTS.combined, "soft-reset", choice="grid"),
    "settings/student-t-linear-robust": partial(PARTS.learner, "student-t-linear", beta_rlm=0.1),
    "settings/sva-hinge": partial(of_two_classes, "sva"),
    "settings/svb-hinge": partial(of_two_classes, "svb"),
    "settings/vogn-convnet": partial(of_images, "vogn", draws=2),
    "settings/vogn-hessian": partial(PARTS.learner, "vogn", beta=0.1, curvature="hessian"),
    "settings/vogn-at-mean": partial(PARTS.learner, "vogn", beta=0.1, draws=0),
    "settings/vogn-ivon-merged": partial(
        PARTS.learner, "vogn", beta=0.01, alpha=0.1, merge=0.5, **IVON
    ),
    "settings/vogn-as-adam": partial(PARTS.learner, "vogn", beta=0.1, **VADAM),
}
"""Runs by name: all components, and models and settings that are not the defaults."""


def arrays(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a run in temporal order: predictions, infos and the last state."""
    with threadpool_limits(1):
        learner, problem = RUNS[name]()
        state, found = learner.init(key("init")), {}
        for t in range(TASKS):
            batch = rounded(PARTS.batch(problem, seed=t))
            state = learner.drift(state, key("drift", t))
            predicted = learner.predict(state, batch.inputs, key("predict", t))._asdict()
            state, info = learner.observe(state, batch, key("observe", t))
            found |= {f"task {t}, predicted {k}": a for k, a in predicted.items() if a is not None}
            found |= {f"task {t}, info {k}": a for k, a in info.items()}
        return found | {f"last state, {k}": a for k, a in state.items()}


def rounded(batch: Batch) -> Batch:
    """Return the batch rounded to multiples of 1/64, the same on any machine."""
    inputs, targets = (
        np.round(a * 64) / 64 if a.dtype.kind == "f" else a for a in (batch.inputs, batch.targets)
    )
    return batch._replace(inputs=inputs, targets=targets)


def summary(array: np.ndarray) -> dict[str, Any]:
    """Return the entry of an array in golden.json."""
    return {
        "type": str(array.dtype),
        "shape": list(array.shape),
        "digest": hashlib.sha256(array.tobytes()).hexdigest()[:32],
        "means": [mean(block) for block in np.array_split(array.ravel(), BLOCKS) if block.size],
    }


def mean(block: np.ndarray) -> float:
    """Return the mean of the finite values, rounded once, or 0 if there are none."""
    finite = block[np.isfinite(block)].astype(float)
    return math.fsum(finite) / max(len(finite), 1)


def read() -> dict[str, Golden]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def difference(golden: Golden, found: dict[str, np.ndarray], tolerance: float = 0.0) -> str:
    """Return a message about the first array that differs; empty if all agree.

    With a tolerance, compare block means, relative to the largest one of the array.
    """
    if golden.keys() != found.keys():
        return f"other arrays than before: {', '.join(sorted(golden.keys() ^ found.keys()))}"
    for name, array in found.items():
        before, now = golden[name], summary(array)
        if any(before[k] != now[k] for k in ("type", "shape")):
            return f"{name}: {now['type']} {now['shape']}, was {before['type']} {before['shape']}"
        off = largest_difference(before["means"], now["means"])
        if off > tolerance:
            return f"{name}: block means differ by up to {off:.1e} of the largest"
        if not tolerance and before["digest"] != now["digest"]:
            return f"{name}: bytes differ, but no block mean by a share of 1e-16"
    return ""


def largest_difference(before: list[float], now: list[float]) -> float:
    """Return the largest difference of block means, relative to the largest mean or SMALL."""
    size = max([SMALL, *map(abs, before)])
    return max((abs(a - b) / size for a, b in zip(before, now, strict=True)), default=0.0)


def remedy() -> str:
    """Return advice on what to do about a difference."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "tensorflow", "numba"))
    return (
        "If the numbers were meant to change: python -m tests.golden, and commit golden.json. If"
        f" not: this is {instructions.processor()} with {instructions.in_force()} instructions,"
        f" {versions}, {' '.join(platform.libc_ver())}; which instructions are pinned, and what"
        " reads them, is in src/shiftbench/core/instructions.py"
    )


def main() -> None:
    """Write golden.json, with one line per array."""
    whole = {name: {k: summary(a) for k, a in arrays(name).items()} for name in sorted(RUNS)}
    runs = [
        f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}"
        for name, golden in whole.items()
        if (lines := [f"{json.dumps(k)}: {json.dumps(golden[k])}" for k in sorted(golden)])
    ]
    FILE.write_text("{\n" + ",\n".join(runs) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
