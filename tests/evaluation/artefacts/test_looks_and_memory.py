"""Figures of plasticity, looks inside tasks, and memory, on synthetic accuracies."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from shiftbench.evaluation.artefacts import memory, plasticity, stability_gap
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.scoring import continual_stores
from tests.evaluation.scoring.stores import by_path

METRICS = [
    *continual_stores.AFTER,
    "acc",
    "worst_case_acc",
    "stability_gap",
    "plasticity",
    "plasticity_slope",
]
STREAM = "permuted-mnist"
SIZES = {"coreset-0": 0, "coreset-20": 4, "coreset-100": 20}
SEEDS, TASKS, LOOKS = 4, 5, 3


def looks(level):
    """Return accuracies at looks [seed, task, look, task] that drop in the middle of a task."""
    random = np.random.default_rng(round(100 * level))
    values = level - 0.2 * (np.arange(LOOKS) == 1)[:, None] + np.zeros((SEEDS, TASKS, LOOKS, TASKS))
    values = values + random.normal(0, 0.01, (SEEDS, 1, 1, 1))
    return np.where(np.arange(TASKS)[:, None, None] < np.arange(TASKS), np.nan, values)


@pytest.fixture(scope="module")
def study():
    store = continual_stores.stream(tasks=TASKS)
    runs = []
    for number, name in enumerate(["joint", *SIZES]):
        values = looks(0.5 + 0.1 * number)
        run = continual_stores.run(store, name, values[:, :, -1])
        dims = ("after_metric", "seed", "task", "look", "tested_task")
        run = run.assign(looked=(dims, np.stack([values, 1 - values, values / 10])))
        spec = json.loads(run.attrs["spec"])
        if name in SIZES:
            spec["learner"] = [["coreset", {"size": SIZES[name]}], *spec["learner"]]
        runs.append(run.assign_attrs(spec=json.dumps(spec)))
    names = ["joint", *SIZES]
    spec = {"study": "s", "metrics": METRICS, "learners": names, "methods": {n: n for n in names}}
    spec |= {"reference": None, "streams": [STREAM]}
    tree, table = summarise.summarise(spec, {STREAM: store}, runs)
    labels = {"coreset-0": "VCL + coreset, 0", "coreset-20": "VCL + coreset, 20"}
    labels |= {"coreset-100": "VCL + coreset, 100", "joint": "Joint"}
    return StudyResults(
        "s",
        "A study",
        "",
        "",
        by_path(tree),
        table,
        {STREAM: store},
        methods=spec["methods"],
        labels=labels,
    )


def test_sizes_of_one_memory_are_one_line_over_all_its_rows(study):
    expected = {"Joint": {0: "joint"}}
    expected["VCL + coreset"] = {TASKS * size: name for name, size in SIZES.items()}
    assert memory.lines(study, STREAM) == expected
    figure = memory.draw(study)
    left, right = [axes for axes in figure.get_axes() if axes.get_xlabel()]
    assert [text.get_text() for text in left.get_xticklabels()] == ["0", "20", "100"]
    (level, *_), (line, *_) = left.get_lines()[:1], left.get_lines()[1:]
    acc = [100 * study.score(STREAM, name, "acc").mean() for name in ("joint", *SIZES)]
    assert level.get_ydata() == pytest.approx([acc[0]] * 2)
    assert line.get_ydata() == pytest.approx(acc[1:])
    worst = [100 * study.score(STREAM, name, "worst_case_acc").mean() for name in SIZES]
    assert right.get_lines()[1].get_ydata() == pytest.approx(worst)


def test_only_a_method_that_keeps_no_rows_or_all_is_a_level_line(study):
    """A study without looks has one panel, and a single memory size is a point."""
    scores = [name for name in METRICS if name != "worst_case_acc"]
    spec = {"study": "s", "metrics": scores, "learners": ["joint", "coreset-20"]}
    spec |= {"reference": None, "streams": [STREAM], "methods": {}}
    store = study.streams[STREAM]
    runs = [study.run(STREAM, name) for name in spec["learners"]]
    tree, table = summarise.summarise(spec, {STREAM: store}, runs)
    without = StudyResults("s", "A study", "", "", by_path(tree), table, {STREAM: store})
    (axes,) = memory.draw(without).get_axes()
    level, point = (line.get_xdata() for line in axes.get_lines()[:2])
    assert len(level) == 2 and len(point) == 1
    assert "worst" not in memory.caption(without)


def test_sizes_with_settings_of_their_own_best_trials_are_one_line(study):
    """Methods without memory keep their own lines, even if they differ only in tuned settings."""
    runs = []
    for number, name in enumerate(["joint", *SIZES]):
        run = study.run(STREAM, name)
        spec = json.loads(run.attrs["spec"])
        spec["tuned"] = {"map.strength": number}
        spec["learner"][-1][1]["strength"] = number
        runs.append(run.assign_attrs(spec=json.dumps(spec)))
    alone = runs[0].attrs["spec"].replace('"joint"', '"finetune"')
    runs.append(runs[0].assign_attrs(spec=alone))
    names = ["joint", *SIZES, "finetune"]
    scores = [name for name in METRICS if name != "worst_case_acc"]
    spec = {"study": "s", "metrics": scores, "learners": names, "methods": {}}
    spec |= {"reference": None, "streams": [STREAM]}
    tree, table = summarise.summarise(spec, {STREAM: study.streams[STREAM]}, runs)
    tuned = StudyResults("s", "A study", "", "", by_path(tree), table, study.streams)
    assert list(memory.lines(tuned, STREAM)) == ["joint", "coreset-", "finetune"]


def test_lines_inside_a_task_begin_at_the_end_of_the_task_before():
    values = np.random.default_rng(0).random((SEEDS, TASKS, LOOKS, TASKS))
    found = stability_gap.of_earlier_tasks(values)
    assert len(found) == TASKS - 1
    for t, inside in enumerate(found, start=1):
        assert inside.shape == (SEEDS, 1 + LOOKS)
        assert inside[:, 0] == pytest.approx(values[:, t - 1, -1, :t].mean(axis=1))
        for h in range(LOOKS):
            assert inside[:, 1 + h] == pytest.approx(values[:, t, h, :t].mean(axis=1))


def test_the_gap_is_written_beside_each_name(study):
    figure = stability_gap.draw(study)
    shown = {axes.get_title(loc="left"): axes.get_title(loc="right") for axes in figure.get_axes()}
    assert shown == {study.label(name): "20.0" for name in study.learners}


def test_names_beside_lines_do_not_cover_each_other(study):
    heights = plasticity._apart([0.5, 0.5, 0.9, 0.51])
    assert np.diff(np.sort(heights)).min() == pytest.approx(plasticity.GAP)
    assert np.argsort(heights).tolist() == [0, 1, 3, 2]
    assert heights[2] == pytest.approx(0.9)
    axes = plasticity.draw(study).get_axes()[0]
    assert len(axes.get_lines()) == len(study.learners)
    (line, *_) = axes.get_lines()
    expected = 100 * (looks(0.5)[:, 0, :, 0]).mean()
    assert line.get_ydata() == pytest.approx([expected] * TASKS)


def test_names_beside_lines_stay_in_the_panel():
    heights = plasticity._apart([-0.01, 0.0, 0.99, 1.0])
    assert min(heights) >= 0 and max(heights) <= 1


def test_one_seed_has_no_interval_beside_its_line():
    one = continual_stores.study(["vcl"], seeds=1, metrics=["accuracy", "plasticity_slope"])
    (axes, _) = plasticity.draw(one).get_axes()
    head = [text.get_text() for text in axes.texts if text.get_text()]
    assert "nan" not in " ".join(head)
    assert any(re.fullmatch(r"\d+\.\d", text) for text in head)
    assert any(re.fullmatch(r"[+-]\d+\.\d", text) for text in head)
