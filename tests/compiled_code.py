"""Call the compiled code of the package with real numbers, as a process after a cold start does.

`python -m tests.compiled_code PART ...` calls the parts in this order. It prints a JSON object with
a digest of the numbers of each part and the signatures of each compiled function.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
from numba.extending import is_jitted

from shiftbench.config import components
from shiftbench.core import compiled_cache, seeds
from shiftbench.core.interface import Batch, Learner, Problem, StudentT
from shiftbench.data.text import _count_store, n_grams, running_text
from shiftbench.data.text._corpora import UN_ARCHIVE
from shiftbench.evaluation.scoring import crps
from shiftbench.evaluation.scoring.marginals import Marginals
from shiftbench.methods.combinators import detect, run_length
from shiftbench.methods.detectors import detector, signals
from shiftbench.methods.learners import bayes_linear, gaussian_mean, robust_fpop, student_t_linear
from shiftbench.methods.online import conjugate_regression
from shiftbench.methods.online.losses import CODES, Loss
from shiftbench.methods.posteriors import normal_inverse_gamma
from tests.checkout import ROOT
from tests.data.text.word_counts import archive, speeches

PACKAGE = Path(compiled_cache.__file__).parents[1]
CLASSES = Problem("classification", (3,), 2, 12, 1)
KEY = seeds.block(range(2), "compiled-code")
ROBUST = bayes_linear.Settings(beta_p=0.1, beta_rlm=0.1, window=8)


def learnt(learner: Learner, batch: Batch) -> Iterable[np.ndarray]:
    state, info = learner.observe(learner.init(KEY), batch, KEY)
    return [*state.values(), *info.values()]


def online(name: str) -> Iterable[np.ndarray]:
    module, random = components.load("learners", name), np.random.default_rng(0)
    batch = Batch(
        random.normal(size=(2, 12, 3)), random.integers(0, 2, (2, 12)), np.ones((2, 12), bool)
    )
    return learnt(module.build(module.Settings(), CLASSES), batch)


def network() -> Iterable[np.ndarray]:
    """Return the numbers of svb on a network, with sampled losses."""
    problem, random = Problem("regression", (3,), 1, 12, 1), np.random.default_rng(0)
    module = components.load("learners", "svb")
    learner = module.build(module.Settings(hidden=4, loss_draws=2), problem)
    x, y = random.normal(size=(2, 12, 3)), random.normal(size=(2, 12, 1))
    return [
        *learnt(learner, Batch(x, y, np.ones((2, 12), bool))),
        *learner.predict(learner.init(KEY), x, KEY),
    ]


def linear(size: int, settings: conjugate_regression.Prior, inside: bool = False):
    """Return the numbers of a regression, inside run-length if `inside` is set.

    size: the number of targets and of regressors.
    """
    problem, random = Problem("regression", (1, size, size), size, 12, 1), np.random.default_rng(0)
    student = isinstance(settings, student_t_linear.Settings)
    learner = (student_t_linear if student else bayes_linear).build(settings, problem)
    if inside:
        learner = run_length.build(run_length.Settings(keep=3), problem, learner)
    inputs, targets = random.normal(size=(2, 12, 1, size, size)), random.normal(size=(2, 12, size))
    return learnt(learner, Batch(inputs, targets, np.ones((2, 12), bool)))


def block(name: str, combinator: str | None) -> Iterable[np.ndarray]:
    """Return the numbers of a learner of one real target for rows in blocks and single rows."""
    problem, random = Problem("regression", (3,), 1, 1, 12), np.random.default_rng(0)
    module = components.load("learners", name)
    learner = inner = module.build(module.Settings(), problem)
    if combinator:
        module = components.load("combinators", combinator)
        fields = {"keep": 3} if combinator == "run-length" else {"broadening": "geometric"}
        made = module.Settings(**fields)
        learner = module.build(made, problem, inner)
    x, y = random.normal(size=(2, 12, 3)), random.normal(size=(2, 12, 1))
    batch, state = Batch(x, y, np.ones((2, 12), bool)), learner.init(KEY)
    after, predictive, info = learner.block(state, batch, True)
    if combinator == "run-length":
        singly = module.singly(made, inner, {k: a[:1] for k, a in state.items()})
        features, targets = inner.rows.check(batch)
        singly.predict(features[0, 0])
        singly.learn(targets[0, 0])
    one = Batch(*(array[:, :1] for array in batch))
    drifted = learner.drift(after, KEY)
    last, _ = learner.observe(drifted, one, KEY)
    alone = learner.predict(drifted, one.inputs, KEY)
    return [*last.values(), *info.values(), *predictive, *alone]


def tasks() -> Iterable[np.ndarray]:
    """Return the numbers of run-length on tasks of several rows, and one conjugate prediction."""
    problem, random = Problem("regression", (0,), 1, 4, 3), np.random.default_rng(0)
    inner = gaussian_mean.build(gaussian_mean.Settings(), problem)
    learner = run_length.build(run_length.Settings(keep=2), problem, inner)
    batch = Batch(np.zeros((2, 4, 0)), random.normal(size=(2, 4, 1)), np.ones((2, 4), bool))
    numbers = (random.uniform(1, 2, (1, 1, *shape)) for shape in ((1, 1, 2), (), (), (2,), (2, 2)))
    return [*learnt(learner, batch), *normal_inverse_gamma.prediction(*numbers)]


def watched() -> Iterable[np.ndarray]:
    """Yield the numbers of every detector on a few values, and Student's t scores."""
    values, seen = np.random.default_rng(0).normal(size=(2, 120)), np.ones((2, 120), bool)
    for build in detect.BUILD.values():
        one = build()
        state, found = detector.watch(one, one.init(KEY), abs(values) % 1, seen)
        yield from [*state.values(), *found]
    student = StudentT(np.zeros((2, 1)), values[:, None, :, None], np.ones((2, 1, 120, 1, 1)),
                       np.full((2, 1), 5.0))  # fmt: skip
    yield signals.of("score", student, Batch(values, values[..., None], seen))


def losses() -> Iterable[np.ndarray]:
    y, z = np.ones(5), np.linspace(-2, 2, 5)
    for kind in CODES:
        loss = Loss(kind)
        yield from [loss.value(y, z), loss.slope(y, z), *loss.expected(y, z, np.abs(z))]


def speech() -> Iterable[np.ndarray]:
    """Return the word counts of running-text on a small archive."""
    with tempfile.TemporaryDirectory() as folder:
        archive(Path(folder) / UN_ARCHIVE, speeches(range(1970, 1972), 4))
        settings = running_text.Settings(vocabulary_size=6, window=2)
        return _count_store.counts(running_text.build(settings, Path(folder)), 0, 1)


def table() -> Iterable[np.ndarray]:
    """Return the counts of n-grams on a small table, with lines held out at random."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table-0").write_text("a b\t1990\t30\t1\nb c\t1991\t20\t1\n")
        settings = n_grams.Settings(
            first_year=1990, last_year=1991, vocabulary_size=3, held_out=0.5
        )
        return _count_store.counts(n_grams.build(settings, Path(folder)), 0, 1)


def pruned() -> Iterable[np.ndarray]:
    """Return the numbers of R-FPOP, which segments a few values again and adds one."""
    problem, random = Problem("regression", (0,), 1, 3, 3), np.random.default_rng(0)
    learner = robust_fpop.build(robust_fpop.Settings(), problem)
    batch = Batch(np.zeros((2, 3, 0)), random.normal(size=(2, 3, 1)), np.ones((2, 3), bool))
    return [*learnt(learner, batch), *learner.predict(learner.init(KEY), batch.inputs, KEY)]


def forecasts() -> Iterable[np.ndarray]:
    """Yield the CRPS and interval score of a mixture of Student's t and of one of normals."""
    centre, width = np.array([[[[0.0]], [[3.0]]]]), np.array([[[[1.0]], [[0.5]]]])
    seen = np.zeros((1, 1, 1)), np.ones((1, 1), bool)
    for df in (np.array([[3.0, 30.0]]), np.full((1, 2), np.inf)):
        mixture = Marginals(np.array([[0.3, 0.7]]), centre, width, df)
        yield crps.crps(mixture, *seen)
        yield crps.interval_score(mixture, *seen, level=0.9)


ONLINE = ("oga", "oga-el", "sva", "svb", "ngvi", "online-logistic")
PARTS = {name: partial(online, name) for name in ONLINE} | {
    "network": network,
    "losses": losses,
    "forecasts": forecasts,
    "bayes-linear": partial(linear, 1, ROBUST),
    "several targets": partial(linear, 2, ROBUST),
    "svrg": partial(linear, 1, bayes_linear.Settings(beta_p=0.1, window=8, optimiser="svrg")),
    "sgd": partial(linear, 1, bayes_linear.Settings(beta_p=0.1, window=8, optimiser="sgd")),
    "student-t errors": partial(linear, 1, student_t_linear.Settings(beta_rlm=0.1)),
    "run-length": partial(linear, 1, bayes_linear.Settings(), inside=True),
    "pruning": pruned,
    "rows": partial(block, "gaussian-mean", None),
    "rows of a chart": partial(block, "control-chart", None),
    "rows of Page-Hinkley": partial(block, "page-hinkley", None),
    "rows of a beam": partial(block, "linear-gaussian", "beam"),
    "rows of a covariance": partial(block, "normal-inverse-wishart", "beam"),
    "rows of score matching": partial(block, "dsm", "beam"),
    "rows of a segment": partial(block, "bayes-linear", "run-length"),
    "rows that are forgotten": partial(block, "bayes-linear", "forget"),
    "scores that are forgotten": partial(block, "svb", "forget"),
    "tasks of a segment": tasks,
    "detectors": watched,
    "running-text": speech,
    "n-grams": table,
}


def digest(part: str) -> str:
    """Return a digest of the numbers of a part."""
    arrays = [np.asarray(array) for array in PARTS[part]()]
    return hashlib.sha256(b"".join(map(np.ndarray.tobytes, arrays))).hexdigest()[:16]


def signatures() -> dict[str, list[str]]:
    """Return the signatures, in this process, of each compiled function of the package."""
    found = {}
    for module in modules():
        for name, function in vars(module).items():
            if is_jitted(function) and function.__module__ == module.__name__:
                found[f"{module.__name__}.{name}"] = [str(s) for s in function.signatures]
    return found


def modules() -> list[ModuleType]:
    """Return the modules that contain compiled functions."""
    places = [file.relative_to(PACKAGE.parent) for file in compiled_cache.sources()]
    return [importlib.import_module(".".join(file.with_suffix("").parts)) for file in places]


def command(turn: int) -> list[str]:
    """Return arguments for Python that call all parts, rotated by `turn`."""
    turn %= len(PARTS)
    return ["-m", "tests.compiled_code", *[*PARTS][turn:], *[*PARTS][:turn]]


def side_by_side(
    cache: Path, commands: Iterable[Sequence[str]], source: Path = PACKAGE.parent
) -> list[tuple[int, str]]:
    """Run Python once per list of arguments, all at once; return exit statuses and outputs.

    cache: the folder for compiled code. source: the folder that contains the package.
    """
    environment = os.environ | {"PYTHONPATH": str(source), "XDG_CACHE_HOME": str(cache)}
    processes = [
        subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True,
        )
        for arguments in commands
    ]  # fmt: skip
    outputs = [process.communicate()[0] for process in processes]
    return [(p.returncode, output) for p, output in zip(processes, outputs, strict=True)]


if __name__ == "__main__":
    digests = {part: digest(part) for part in sys.argv[1:]}
    json.dump({"digests": digests, "signatures": signatures()}, sys.stdout)
