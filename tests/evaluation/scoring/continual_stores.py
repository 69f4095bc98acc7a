"""Small stores of continual-learning studies, without images or training."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring.stores import by_path

METRICS = ["accuracy", "nll", "ece", "acc", "bwt", "fwt", "learning_accuracy"]
AFTER = METRICS[:3]
LEARNERS = {  # accuracy just after a task, and the loss of accuracy in the end
    "finetune": (0.97, 0.5),
    "ewc": (0.95, 0.04),
    "ewc-online": (0.95, 0.05),
    "si": (0.94, 0.08),
    "lp": (0.96, 0.16),
    "vcl": (0.965, 0.09),
    "vcl-improved": (0.95, 0.03),
    "vcl-coreset-random": (0.965, 0.04),
    "vcl-coreset-kcenter": (0.965, 0.05),
    "vcl-radial": (0.96, 0.07),
    "vogn": (0.945, 0.01),
    "slang": (0.94, 0.012),
    "ucb": (0.93, 0.03),
    "hat": (0.92, 0.0),
    "independent": (0.968, 0.87),
    "joint": (0.969, 0.0),
}


EPOCHS = {"epochs": 800}
"""The epochs of all learners, the maximum in any paper, so that all runs are comparable."""
MODEL = ["mlp", {"hidden": [1000]}]
"""At least as large as the network of any paper."""


def stream(name="permuted-mnist", family="permuted-images", tasks=10, rows=60000, **settings):
    """Return a stream store with only its spec and its number of rows."""
    about = {"dataset": "mnist", "tasks": tasks, "heads": "single", "judge_on": "test"}
    about["train_per_task"] = rows
    spec = {"stream": name, "family": family, "settings": about | settings}
    return xr.Dataset(
        {
            "shift": (("realisation", "task"), np.ones((3, tasks), bool)),
            "size": (("realisation", "part", "split"), np.full((3, max(tasks, 1), 3), rows)),
            "image": (("y", "x", "channel"), np.zeros((1, 1, 1))),
            "classes": (("realisation", "task", "place"), np.zeros((3, tasks, 2), int)),
        },
        attrs={"spec": json.dumps(spec), "title": "Images", "heads": 1, "classes": 10}
        | {"train_per_task": rows},
    )


def run(store, variant, matrix, first=0, status=None, tuned=None, **settings):
    """Return a run store from accuracies A [seed, task, tested], NaN for future tasks.

    nll is 1 - A, and ece is (1 - A) / 10. tuned: the settings changed by the best trial.
    """
    seeds, tasks, _ = matrix.shape
    tested = np.stack([matrix, 1 - matrix, (1 - matrix) / 10])
    spec = {
        "stream": {"name": json.loads(store.attrs["spec"])["stream"]},
        "method": variant,
        "learner": [["reset", {}]] * (variant == "independent") + [["map", EPOCHS | settings]],
        "model": MODEL,
        "seeds": [first, first + seeds - 1],
    } | ({} if tuned is None else {"tuned": tuned})
    none = np.full((len(METRICS) - len(AFTER), seeds, tasks), np.nan)
    return xr.Dataset(
        {
            "score": (("metric", "seed", "task"), np.vstack([np.nanmean(tested, axis=3), none])),
            "tested": (("after_metric", "seed", "task", "tested_task"), tested),
            "status": ("seed", np.array(status or ["ok"] * seeds)),
            "realisation": ("seed", np.arange(seeds)),
        },
        {
            "metric": METRICS,
            "after_metric": AFTER,
            "seed": np.arange(first, first + seeds),
            "task": np.arange(tasks),
        },
        {"spec": json.dumps(spec)},
    )


def matrix(learner, tasks=10, seeds=3):
    """Return plausible accuracies [seed, task, tested] of a learner in `LEARNERS`."""
    best, lost = LEARNERS[learner]
    random = np.random.default_rng(sum(map(ord, learner)))
    age = np.arange(tasks)[:, None] - np.arange(tasks)
    kept = 1 - np.exp(-3 * np.maximum(age, 0) / tasks)
    if learner == "independent":
        kept = (age > 0).astype(float)
    values = best - lost * kept + random.normal(0, 0.008, (seeds, tasks, tasks))
    return np.where(age >= 0, values.clip(0, 1), np.nan)


def study(learners=tuple(LEARNERS), streams=None, seeds=3, metrics=METRICS, runs=()):
    """Return the results of a study; `runs` replace synthetic ones."""
    stores = streams or {"permuted-mnist": stream()}
    given = {(json.loads(r.attrs["spec"])["stream"]["name"], _variant(r)) for r in runs}
    made = [
        run(store, name, matrix(name, store.sizes["task"], seeds))
        for place, store in stores.items()
        for name in learners
        if (place, name) not in given
    ]
    spec = {
        "study": "continual",
        "metrics": list(metrics),
        "learners": list(learners),
        "methods": {name: name for name in learners},
        "reference": "independent" if "independent" in learners else None,
        "streams": list(stores),
    }
    tree, table = summarise.summarise(spec, stores, [*made, *runs])
    cuts = "20 epochs a task in place of 100"
    keys = {"method_of": spec["methods"], "reference": spec["reference"]}
    keys["bounds"] = [name for name in ("independent", "joint") if name in learners]
    return StudyResults("continual", "A study", cuts, "", by_path(tree), table, stores, **keys)


def _variant(run_store):
    return json.loads(run_store.attrs["spec"])["method"]
