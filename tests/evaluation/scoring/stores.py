"""Small run and stream stores for the tests of scores and artefacts."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import xarray as xr

from shiftbench.config import components
from shiftbench.core import seeds
from shiftbench.data.images import transformed_images
from shiftbench.data.series import toy_step
from shiftbench.data.tables import tabular
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from shiftbench.methods.combinators import beam
from shiftbench.methods.learners import gaussian_mean, ngvi, oga, sva

average_cumulative_expected_loss = components.load_metric("average_cumulative_expected_loss")
average_cumulative_loss = components.load_metric("average_cumulative_loss")
log_predictive = components.load_metric("log_predictive")

LOG_ODDS = float(np.log(1 / 9))
TOY_METRICS = ["jump_f1", "log_predictive", "exact_map_agreement"]
IMAGE_METRICS = ["accuracy", "accuracy_first_hypothesis", "shift_precision", "shift_recall"]


def by_path(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """Return the data sets of a tree by their path, as results of a study have them."""
    return {node.path.lstrip("/"): node.to_dataset(inherit=False) for node in tree.subtree}


def flags(*places, tasks=9):
    """Return where shifts are as flags of tasks [task]."""
    return np.isin(np.arange(tasks), places)


def run_store(score, metrics, stream, variant, learner, infos=None, first=0, status=None):
    """Return a run store of score [metric, seed, task] and infos [seed, task, hypothesis, ...]."""
    _, n, tasks = score.shape
    numbers = np.arange(first, first + n)
    store = xr.Dataset(
        {
            "score": (("metric", "seed", "task"), score),
            "status": ("seed", np.array(status or ["ok"] * n)),
            "realisation": ("seed", numbers % stream.sizes["realisation"]),
        },
        {"metric": metrics, "seed": numbers, "task": np.arange(tasks)},
    )
    for name, values in (infos or {}).items():
        dims = ("seed", "task", "hypothesis", f"{name}_component")[: values.ndim]
        store[f"info_{name}"] = (dims, values)
    about = json.loads(stream.attrs["spec"])
    spec = {
        "stream": {"name": about["stream"], "family": about["family"]},
        "method": variant,
        "learner": learner,
        "model": ["mlp", {"hidden": [1000]}],
        "seeds": [first, first + n - 1],
    }
    return store.assign_attrs(spec=json.dumps(spec))


def toy_stream(realisations=4):
    store = toy_step.build(toy_step.Settings(realisations=realisations), Path())
    spec = {"stream": "toy-step", "family": "toy-step", "settings": {}}
    return store.assign_attrs(spec=json.dumps(spec))


def toy_run(stream, variant, n=4, **settings):
    """Return a run of a beam over the conjugate mean on the toy stream, without the harness."""
    values = {
        "truncation": "plain",
        "broadening": "diffuse",
        "variance": 1.0,
        "prior_log_odds": LOG_ODDS,
    }
    of_beam, of_mean = beam.Settings(**(values | settings)), gaussian_mean.Settings()
    problem, keys = toy_step.problem(stream), seeds.block(range(n), "test")
    learner = beam.build(of_beam, problem, gaussian_mean.build(of_mean, problem))
    state, scores, infos = learner.init(keys), [], []
    realisations = np.arange(n) % stream.sizes["realisation"]
    for t in range(stream.sizes["task"]):
        batch = toy_step.task(stream, realisations, t).train
        state = learner.drift(state, keys)
        scores.append(log_predictive.score(learner.predict(state, batch.inputs, keys), batch))
        state, info = learner.observe(state, batch, keys)
        infos.append(info)
    return run_store(
        np.stack(scores, axis=1)[None],
        ["log_predictive"],
        stream,
        variant,
        [["beam", dataclasses.asdict(of_beam)], ["gaussian-mean", dataclasses.asdict(of_mean)]],
        {name: np.stack([info[name] for info in infos], axis=1) for name in infos[0]},
    )


def image_stream(dataset="digits", tasks=9):
    """Return small transformed digits; `dataset` is the name recorded in the store."""
    settings = transformed_images.Settings(tasks=tasks, train_per_task=20, realisations=2)
    store = transformed_images.build(settings, Path())
    spec = {
        "stream": "images",
        "family": "transformed-images",
        "settings": {"dataset": dataset, "tasks": tasks, "train_per_task": 20},
    }
    return store.assign_attrs(spec=json.dumps(spec))


def image_run(stream, variant, accuracy, n=3, decides=False, status=None):
    """Return a run with accuracies around a mean; `decides` adds a shift before task 3."""
    tasks = stream.sizes["task"]
    random = np.random.default_rng(len(variant))
    of_tasks = accuracy + random.normal(0, 0.02, (n, tasks))
    score = np.stack([of_tasks, of_tasks - 0.01])
    infos = None
    if decides:
        shift = np.zeros((n, tasks, 1))
        shift[:, 3] = 1
        infos = {"parent": np.zeros_like(shift), "shift": shift, "log_weight": np.zeros_like(shift)}
    return run_store(score, IMAGE_METRICS[:2], stream, variant, [["x", {}]], infos, status=status)


METHODS = {"vcl": "vcl-bnn", "lp": "lp-sampled", "independent": "independent-task"}
"""The methods of image learners whose name differs."""


def study(name, stream, metrics, runs, cuts="9 tasks in place of 100"):
    """Return the results of a study of one stream."""
    about = json.loads(stream.attrs["spec"])["stream"]
    learners = list(dict.fromkeys(json.loads(run.attrs["spec"])["method"] for run in runs))
    spec = {"study": name, "metrics": metrics, "learners": learners, "streams": [about]}
    methods = {one: METHODS.get(one, one) for one in learners}
    spec |= {"methods": methods, "reference": None}
    tree, table = summarise.summarise(spec, {about: stream}, runs)
    baseline = "vcl" if "vcl" in learners else None
    return StudyResults(
        name,
        "A study",
        cuts,
        "",
        by_path(tree),
        table,
        {about: stream},
        (),
        baseline,
        None,
        methods,
    )


def toy_study(n=4):
    stream = toy_stream(n)
    runs = [toy_run(stream, f"vbs-k{size}", n, size=size) for size in (1, 2)]
    runs.append(toy_run(stream, "vbs-k2-bayes", n, size=2, weights="bayes"))
    return study("toy-step", stream, TOY_METRICS, runs, cuts="")


def image_study(learners=("vbs-k6", "vcl", "lp"), dataset="digits"):
    stream = image_stream(dataset)
    runs = [
        image_run(stream, name, 0.8 - 0.05 * place, decides=name.startswith("vbs"))
        for place, name in enumerate(learners)
    ]
    return study("images", stream, IMAGE_METRICS, runs)


ONLINE_METRICS = [
    "average_cumulative_loss",
    "average_cumulative_expected_loss",
    "regret",
    "expected_regret",
    "regret_bound",
    "regret_bound_worst_case",
]


def online_stream(dataset="breast-cancer", rows=0, realisations=3, **others):
    fields = {"dataset": dataset, "rows": rows, "realisations": realisations, "change": "none"}
    fields |= others
    store = tabular.build(tabular.Settings(**fields), Path())
    spec = {"stream": dataset, "family": "tabular", "settings": fields}
    return store.assign_attrs(spec=json.dumps(spec))


def online_run(stream, module, n=3, **settings):
    """Return a run of a real online learner on a table, without the harness."""
    made = module.Settings(**settings)
    learner = module.build(made, tabular.problem(stream))
    scorers = (average_cumulative_loss, average_cumulative_expected_loss)
    keys, scores, infos = seeds.block(range(n), "test"), [], []
    state = learner.init(keys)
    for t in range(stream.sizes["task"]):
        batch = tabular.task(stream, range(n), t).train
        predictive = learner.predict(state, batch.inputs, keys)
        scores.append([scorer.score(predictive, batch) for scorer in scorers])
        state, info = learner.observe(state, batch, keys)
        infos.append(info)
    name = module.__name__.rsplit(".", 1)[-1].replace("_", "-")
    return run_store(
        np.array(scores).transpose(1, 2, 0),
        ONLINE_METRICS[:2],
        stream,
        name,
        [[name, dataclasses.asdict(made)]],
        {field: np.stack([info[field] for info in infos], axis=1) for field in infos[0]},
    )


def online_study():
    stream = online_stream()
    runs = [online_run(stream, module) for module in (oga, sva, ngvi)]
    return study("online", stream, ONLINE_METRICS, runs)
