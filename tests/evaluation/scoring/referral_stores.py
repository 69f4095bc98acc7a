"""Run stores with kept predictions, without learning."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from scipy.special import entr

from shiftbench.core.interface import Batch, Categorical
from shiftbench.evaluation.running import saved_predictions
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import stores
from tests.evaluation.scoring.stores import by_path

METRICS = [
    "auc",
    "auc_at_10",
    "auc_at_20",
    "auc_at_30",
    "accuracy_at_30",
    "brier",
    "misclassification_auc",
    "mutual_information",
]
OF_SHIFTS = [
    "ood_auc",
    "ood_auc_entropy",
    "new_segment_accuracy",
    "new_segment_accuracy_at_30",
    "new_segment_brier",
    "new_segment_ece",
]


def stream(name="table", shifts=(), tasks=1, realisations=3):
    """Return a stream store with only its spec and its shifts."""
    shift = np.zeros((realisations, tasks), bool)
    shift[:, list(shifts)] = True
    spec = {"stream": name, "family": "split-images", "settings": {"dataset": "digits"}}
    store = xr.Dataset({"shift": (("realisation", "task"), shift)})
    return store.assign_attrs(spec=json.dumps(spec), title="Rows", licence="")


def drawn(shape, targets, skill, spread, seed=0):
    """Return 8 draws of a two-class logit [seed, 1, n], better for larger `skill`.

    spread: how much draws differ, most for difficult rows.
    """
    random = np.random.default_rng(seed)
    hard = random.uniform(0, 2, shape)
    logit = skill * (2 * targets - 1) + hard * random.normal(size=shape)
    draws = logit + spread * hard * random.normal(size=(8, *shape))
    p = 1 / (1 + np.exp(-np.stack([-draws, draws], axis=-1)))
    mixed = p.mean(axis=0)[:, None]
    return Categorical(np.zeros((shape[0], 1)), mixed, entr(p).sum(-1).mean(axis=0)[:, None])


def run(store, variant, skill=1.5, spread=0.7, n=3, rows=120, masked=0):
    """Return a run store of a learner; the last `masked` rows of each task are masked."""
    tasks, metrics = store.sizes["task"], list(METRICS)
    found: dict[str, list] = {}
    for t in range(tasks):
        for moment, off in (("before", 0.4), ("after", 0.0)):
            random = np.random.default_rng([t, moment == "after"])
            targets = random.integers(0, 2, (n, rows))
            mask = np.tile(np.arange(rows) < rows - masked, (n, 1))
            batch = Batch(np.zeros((n, rows, 1)), targets, mask)
            predictive = drawn((n, rows), targets, skill - off, spread * (1 + 2 * off), t)
            for name, values in saved_predictions.arrays(moment, predictive, batch).items():
                found.setdefault(name, []).append(values[:, None])
    made = stores.run_store(
        np.full((len(metrics), n, tasks), np.nan), metrics, store, variant, [["map", {}]]
    )
    stacked = {name: saved_predictions.joined(values) for name, values in found.items()}
    return made.assign(saved_predictions.variables(stacked, tasks))


def study(runs, store, metrics=METRICS, labels=None):
    """Return the results of a study of one stream."""
    about = json.loads(store.attrs["spec"])["stream"]
    learners = [json.loads(one.attrs["spec"])["method"] for one in runs]
    spec = {"study": "referral", "metrics": metrics, "learners": learners, "streams": [about]}
    methods = {one: one for one in learners}
    spec |= {"methods": methods, "reference": None}
    tree, table = summarise.summarise(spec, {about: store}, runs)
    return StudyResults(
        "referral", "Referral", "rows made up", "", by_path(tree), table, {about: store},
        method_of=methods, labels=labels or {},
    )  # fmt: skip
