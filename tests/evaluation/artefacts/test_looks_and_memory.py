"""Figures of plasticity, looks inside tasks, and memory, on synthetic accuracies."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from shiftbench.evaluation import highlights
from shiftbench.evaluation.artefacts import memory, plasticity, stability_gap
from shiftbench.evaluation.scoring import summarise
from shiftbench.evaluation.scoring.results import StudyResults
from tests.evaluation.artefacts import paired
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
        method_of=spec["methods"],
        labels=labels,
        bounds=["joint"],
    )


def test_sizes_of_one_memory_are_one_line_over_all_its_rows(study):
    found = memory.lines(study, STREAM)
    assert {name: line.sizes for name, line in found.items()} == {
        "Joint": {"joint": 0},
        "VCL + coreset": {name: TASKS * size for name, size in SIZES.items()},
    }
    figure = memory.draw(study)
    left, right = [axes for axes in figure.get_axes() if axes.get_xlabel()]
    assert [text.get_text() for text in left.get_xticklabels()] == ["0", "20", "100"]
    (level, *_), (line, *_) = left.get_lines()[:1], left.get_lines()[1:]
    acc = [100 * study.score(STREAM, name, "acc").mean() for name in ("joint", *SIZES)]
    assert level.get_ydata() == pytest.approx([acc[0]] * 2)
    assert line.get_ydata() == pytest.approx(acc[1:])
    worst = [100 * study.score(STREAM, name, "worst_case_acc").mean() for name in SIZES]
    assert right.get_lines()[1].get_ydata() == pytest.approx(worst)


def test_the_title_says_which_memory_is_best_beside_the_bound(study):
    best, joint = (100 * study.score(STREAM, n, "acc").mean() for n in ("coreset-100", "joint"))
    said = (
        f"{STREAM}: with 100 rows of memory, VCL + coreset has an average accuracy of {best:.1f} %"
        f" (Joint: {joint:.1f} %)"
    )
    assert memory.draw(study).subfigs[0].get_suptitle() == said
    assert memory.caption(study).startswith(said)


def test_five_memories_are_in_colour_and_named_at_their_ends(study):
    store, names = study.streams[STREAM], [f"method-{number}" for number in range(7)]
    runs = []
    for number, name in enumerate(names):
        for size in (4, 20):
            run = continual_stores.run(store, f"{name}-{size}", looks(0.3 + number / 20)[:, :, -1])
            spec = json.loads(run.attrs["spec"])
            inner = [[f"{spec['learner'][0][0]}", {"strength": float(number)}]]
            spec["learner"] = [["coreset", {"size": size}], *inner]
            runs.append(run.assign_attrs(spec=json.dumps(spec)))
    learners = [f"{name}-{size}" for name in names for size in (4, 20)]
    spec = {"study": "s", "metrics": ["accuracy", "acc"], "learners": learners, "methods": {}}
    spec |= {"reference": None, "streams": [STREAM]}
    tree, table = summarise.summarise(spec, {STREAM: store}, runs)
    several = StudyResults("s", "A study", "", "", by_path(tree), table, {STREAM: store})
    (axes,) = memory.draw(several).get_axes()
    labels = [text.get_text() for text in axes.texts]
    assert sorted(labels) == [f"method-{number}-" for number in range(2, 7)]
    grey = [line for line in axes.get_lines() if line.get_color() == highlights.GREY]
    assert len(grey) == 2
    best, *others = (several.score(STREAM, f"method-{n}-20", "acc") for n in range(6, -1, -1))
    assert paired.worse(best, others).all()
    assert memory.message(several, STREAM) == (
        f"{STREAM}: with 100 rows of memory, method-6- has the largest average accuracy of 7"
        f" methods, {100 * best.mean():.1f} %; all others are significantly worse"
    )


def test_a_single_line_lies_on_its_places(study):
    left, *_ = memory.draw(study).get_axes()
    (line,) = [one for one in left.get_lines() if len(one.get_xdata()) == len(SIZES)]
    assert line.get_xdata() == pytest.approx([0, 1, 2])


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


def test_two_memories_with_all_rows_that_they_can_hold_are_two_points_at_one_place(study):
    """A memory cannot keep more rows of a task than half of those that the task has."""
    rows = study.streams[STREAM].attrs["train_per_task"]
    larger = {"coreset-20": rows, "coreset-100": 2 * rows}
    tree = {**study.scores}
    for name, size in larger.items():
        run = study.run(STREAM, name)
        spec = json.loads(run.attrs["spec"])
        spec["learner"][0][1]["size"] = size
        tree[f"runs/{STREAM}/{name}"] = run.assign_attrs(spec=json.dumps(spec))
    capped = dataclasses.replace(study, scores=tree)
    line = memory.lines(capped, STREAM)["VCL + coreset"]
    assert line.sizes == {"coreset-0": 0, **dict.fromkeys(larger, TASKS * rows // 2)}
    left, *_ = memory.draw(capped).get_axes()
    (drawn,) = [one for one in left.get_lines() if len(one.get_xdata()) == len(SIZES)]
    assert drawn.get_xdata() == pytest.approx([0, 1, 1])
    acc = [100 * study.score(STREAM, name, "acc").mean() for name in SIZES]
    assert drawn.get_ydata() == pytest.approx(acc)


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
    assert shown == {study.label(name): "20.0" for name in study.methods}


def test_the_title_says_whose_gap_is_smallest_without_bounds(study):
    gaps = [study.score(STREAM, name, "stability_gap") for name in SIZES]
    assert np.ptp(gaps, axis=0) == pytest.approx(0, abs=1e-12), "rounding tells who is first"
    (title,) = [block.get_suptitle() for block in stability_gap.draw(study).subfigs]
    assert title in [
        f"{STREAM}: VCL + coreset, {size} has the smallest stability gap of 3 methods, 20.0 points;"
        " all seeds alike, so no test"
        for size in (0, 20, 100)
    ]
    assert stability_gap.caption(study).startswith(f"{title}. ")


def test_the_title_says_that_larger_gaps_are_significantly_worse(study):
    cube = study.cube.copy(deep=True)
    gaps = {"joint": 0.05, "coreset-0": [0.2, 0.21, 0.22, 0.23], "coreset-20": 0.1}
    for name, values in (gaps | {"coreset-100": [0.3, 0.31, 0.32, 0.33]}).items():
        cube["score"].loc[{"learner": name, "metric": "stability_gap"}] = values
    # t = 17.8 and 33.3 against 0.1, p = 0.0004 and below
    distinct = dataclasses.replace(study, scores={**study.scores, "scores": cube})
    assert stability_gap.message(distinct, STREAM) == (
        f"{STREAM}: VCL + coreset, 20 has the smallest stability gap of 3 methods, 10.0 points;"
        " all others are significantly worse"
    )


def test_names_beside_lines_do_not_cover_each_other(study):
    heights = plasticity._apart([0.5, 0.5, 0.9, 0.51])
    assert np.diff(np.sort(heights)).min() == pytest.approx(plasticity.GAP)
    assert np.argsort(heights).tolist() == [0, 1, 3, 2]
    assert heights[2] == pytest.approx(0.9)
    axes = plasticity.draw(study).get_axes()[0]
    assert len(axes.get_lines()) == len(study.methods)
    (line, *_) = axes.get_lines()
    expected = 100 * (looks(0.5)[:, 0, :, 0]).mean()
    assert line.get_ydata() == pytest.approx([expected] * TASKS)


def test_names_beside_lines_stay_in_the_panel():
    heights = plasticity._apart([-0.01, 0.0, 0.99, 1.0])
    assert min(heights) >= 0 and max(heights) <= 1


def while_learnt(learner, lower=0.0):
    """Return accuracies [seed, task, tested] that have a spread over seeds, and their mean."""
    values = (continual_stores.matrix(learner) - lower).clip(0, 1)
    return values, 100 * np.diagonal(values, axis1=1, axis2=2).mean(axis=1)


def test_the_title_says_who_is_the_most_accurate_of_all_and_without_new_starts():
    store, lower = continual_stores.stream(), {"vcl": 0.1, "ewc": 0.3, "independent": 0.0}
    found = {name: while_learnt(name, by) for name, by in lower.items()}
    runs = [continual_stores.run(store, name, values) for name, (values, _) in found.items()]
    metrics = ["accuracy", "plasticity_slope"]
    made = continual_stores.study(list(lower), runs=runs, metrics=metrics)
    vcl, ewc, scratch = (of_seeds for _, of_seeds in found.values())
    assert paired.worse(vcl, [ewc]).all() and paired.worse(scratch, [vcl, ewc]).all()
    said = (
        f"{STREAM}: independent is the most accurate while it learns, {scratch.mean():.1f} %; of"
        f" methods without a new start, vcl, {vcl.mean():.1f} %; the other is significantly worse"
    )
    assert plasticity.draw(made).subfigs[0].get_suptitle() == said
    assert plasticity.caption(made).startswith(f"{said}. ")
    values, scratch = while_learnt("independent", 0.2)
    runs[-1] = continual_stores.run(store, "independent", values)
    made = continual_stores.study(list(lower), runs=runs, metrics=metrics)
    said = f"{STREAM}: vcl is the most accurate while it learns, {vcl.mean():.1f} %"
    assert plasticity.message(made, STREAM) == f"{said}; the other is significantly worse"
    assert paired.worse(vcl, [ewc, scratch]).all()
    ranked = dataclasses.replace(made, bounds=[])
    assert plasticity.message(ranked, STREAM) == f"{said}; all others are significantly worse"


def test_one_seed_has_no_interval_beside_its_line():
    one = continual_stores.study(["vcl"], seeds=1, metrics=["accuracy", "plasticity_slope"])
    (axes, _) = plasticity.draw(one).get_axes()
    head = [text.get_text() for text in axes.texts if text.get_text()]
    assert "nan" not in " ".join(head)
    assert any(re.fullmatch(r"\d+\.\d", text) for text in head)
    assert any(re.fullmatch(r"[+-]\d+\.\d", text) for text in head)
