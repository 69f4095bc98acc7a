"""Synthetic results of a study with axes, in which the best method depends on the cell."""

from __future__ import annotations

import dataclasses
import json
from itertools import product

import numpy as np

from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import stores

AXES = {"rows": [25, 50, 100, 200, 400], "tasks_per_segment": [1, 3, 6], "strength": [0.5, 1.0]}
METRICS = ["accuracy", "shift_precision", "shift_recall"]
STYLES = {
    "vbs": ("sky", "s"),
    "vgs": ("green", "D"),
    "vcl": ("orange", "^"),
    "lp": ("brown", "v"),
    "finetune": ("pink", "o"),
    "independent": ("grey", "P"),
}
LABELS = {"vbs": "VBS, K = 3", "vgs": "VGS", "vcl": "VCL", "lp": "LP", "finetune": "Fine-tuning"}
PIPELINES = {
    "vbs": [["beam", {"size": 3}], ["mfvi", {}]],
    "vgs": [["beam", {"size": 1}], ["mfvi", {}]],
    "independent": [["reset", {"to": "scratch"}], ["map", {}]],
}


def means(rows: float, segment: float, strength: float) -> dict[str, float]:
    """Return realistic accuracies: memory helps if there are few rows."""
    level = 0.9 - 0.3 * (12.5 / rows) ** 0.5 - 0.05 * strength
    memory = 0.10 * (25 / rows) * (segment / 3) ** 0.5
    gain = 0.017 * strength
    return {
        "vbs": level + memory + gain + 0.001,
        "vgs": level + memory + gain,
        "vcl": level + memory,
        "lp": level + memory - 0.008,
        "finetune": level + memory - 0.02 + 0.012 * np.log2(rows / 25),
        "independent": level,
    }


def results(axes=None, learners=tuple(STYLES), seeds=10, metrics=METRICS, failed=()):
    """Return results of a synthetic study. failed: streams and learners whose runs all failed."""
    axes = AXES if axes is None else axes
    template = stores.image_stream(tasks=6)
    cells = {
        "-".join(["digits", *(f"{value:g}".replace(".", "p") for value in point)]): point
        for point in product(*axes.values())
    }
    streams, runs = {}, []
    for number, (name, point) in enumerate(cells.items()):
        about = {"stream": name, "family": "transformed-images", "settings": {"dataset": "digits"}}
        streams[name] = template.assign_attrs(spec=json.dumps(about))
        place = {"rows": 100, "tasks_per_segment": 3, "strength": 1.0} | dict(
            zip(axes, point, strict=True)
        )
        of_cell = means(*place.values())
        random = np.random.default_rng(number)
        shared = random.normal(0, 0.02, (seeds, 1))
        for learner in learners:
            score = of_cell[learner] + shared + random.normal(0, 0.012, (seeds, 6))
            lost = (name, learner) in failed
            runs.append(_run(streams[name], learner, score, random, lost))
    spec = {"study": "map", "metrics": list(metrics), "learners": list(learners)}
    spec |= {"streams": list(streams), "methods": {}, "reference": "independent"}
    tree, table = summarise.summarise(spec, streams, runs)
    known = {name: dict(zip(axes, point, strict=True)) for name, point in cells.items()}
    study = StudyResults("map", "A map", "", "", stores.by_path(tree), table, streams)
    return dataclasses.replace(
        study,
        baseline="vcl",
        reference="independent",
        labels=LABELS,
        method_styles=STYLES,
        cells=known,
    )


def _run(stream, learner, score, random, lost):
    infos = None
    if learner in ("vbs", "vgs"):
        found = random.random((*score.shape, 1)) < np.where(stream["shift"][0], 0.6, 0.05)[:, None]
        nothing = np.zeros(found.shape)
        infos = {"parent": nothing, "shift": found * 1.0, "log_weight": nothing}
    status = ["failed: x"] * len(score) if lost else None
    pipeline = PIPELINES.get(learner, [["map", {}]])
    scores = np.where(lost, np.nan, score)[None]
    return stores.run_store(scores, METRICS[:1], stream, learner, pipeline, infos, status=status)
