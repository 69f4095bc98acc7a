"""The segmentation figure and the table beside it, on the Nile through the harness."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shiftbench.artefacts import paper_and_code, segmentation
from shiftbench.errors import UserError
from shiftbench.evaluation.cost import Meter
from shiftbench.evaluation.harness import Experiment
from shiftbench.streams import series
from tests.evaluation import stores

METRICS = ["squared_error", "n_changepoints", "run_length_zeros"]
RUN_LENGTH = ["run-length", {"hazard": 0.01, "keep": 30}]
LEARNERS = {
    "standard": [RUN_LENGTH, ["bayes-linear", {}]],
    "robust": [RUN_LENGTH, ["bayes-linear", {"beta_rlm": 0.15}]],
    "no-run-lengths": [["bayes-linear", {}]],
}


def driven(stream, variant):
    """A run store, made by the harness."""
    experiment = Experiment(
        {
            "study": "study",
            "stream": {"name": "nile", "family": "series"},
            "variant": variant,
            "learner": LEARNERS[variant],
            "model": None,
            "seeds": [0, 0],
            "reveals": [],
            "metrics": METRICS[:1],
            "code": "code",
        },
        stream,
    )
    position, meter = experiment.start(), Meter()
    while position.next_task < experiment.problem.n_tasks:
        position = experiment.advance(position, meter)
    return experiment.store(position)


@pytest.fixture(scope="module")
def nile():
    fields = {"dataset": "nile", "regressors": "constant", "scaling": "z-score", "realisations": 1}
    spec = {"stream": "nile", "family": "series", "settings": fields}
    store = series.build(series.Settings(**fields), Path())
    return store.assign_attrs(spec=json.dumps(spec))


@pytest.fixture(scope="module")
def runs(nile):
    return {name: driven(nile, name) for name in LEARNERS}


@pytest.fixture(scope="module")
def study(nile, runs):
    return stores.study("nile", nile, METRICS, list(runs.values()))


def test_each_learner_with_run_lengths_has_a_panel_with_its_numbers(study, runs):
    top, *panels = segmentation.draw(study).get_axes()
    titles = [panel.get_title(loc="left") for panel in panels]
    assert [title.split(":")[0].split()[-1] for title in titles] == ["standard", "robust"]
    for panel, name in zip(panels, ("standard", "robust"), strict=True):
        run = runs[name].isel(seed=0)
        best = run["info_log_weight"].argmax("hypothesis")
        length = run["info_run_length"].isel(hypothesis=best).values
        (drawn,) = (line for line in panel.get_lines() if line.get_marker() == "None")
        np.testing.assert_array_equal(drawn.get_ydata(), length)
        words = f"1 changepoint, most probable run length 0 at {(length == 0).sum()} step"
        assert words in panel.get_title(loc="left")
        (mark,) = (line for line in panel.get_lines() if line.get_marker() == "v")
        assert mark.get_xdata()[0] == 1899
    assert top.get_lines()[1].get_xdata()[0] == 1899  # the truth, dotted
    assert panels[-1].get_xlabel() == "year" and panels[-1].get_xlim() == (1871, 1971)


def test_an_event_is_a_line_with_its_words(nile, runs):
    event = np.arange(100) == 50
    store = nile.assign(event=("task", event, {"long_name": "the dam opens"}))
    top = segmentation.draw(stores.study("nile", store, METRICS, list(runs.values()))).get_axes()[0]
    assert [line.get_xdata()[0] for line in top.get_lines()[1:]] == [1899, 1921]
    assert [text.get_text() for text in top.texts if "dam" in text.get_text()] == [" the dam opens"]


def test_the_posterior_of_several_models_is_stacked_to_one(nile, runs):
    run = runs["standard"].copy(deep=True)
    shape = run["info_model"].shape
    run["info_model"][:] = np.arange(shape[-1]) % 2
    store = nile.assign_coords(model=("model", ["first", "second"]))
    panels = segmentation.draw(stores.study("nile", store, METRICS, [run])).get_axes()
    assert len(panels) == 3
    weight = np.exp(run["info_log_weight"].values[0])
    _, upper = panels[2].collections
    heights = upper.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(1) and weight[:, 1::2].sum(axis=1).max() > 0
    assert min(heights) == pytest.approx(weight[:, ::2].sum(axis=1).min())


def test_without_run_lengths_there_is_no_figure(nile, runs):
    study = stores.study("nile", nile, METRICS[:1], [runs["no-run-lengths"]])
    with pytest.raises(UserError, match="needs a learner inside run-length"):
        segmentation.draw(study)


def test_cells_of_a_long_series_show_their_largest_probability(monkeypatch):
    monkeypatch.setattr(segmentation, "COLUMNS", 7)
    monkeypatch.setattr(segmentation, "ROWS", 5)
    rng = np.random.default_rng(0)
    length, weight = rng.integers(0, 23, (40, 4)), rng.dirichlet(np.ones(4), 40)
    picture, longest = segmentation._picture(length, weight)
    assert picture.shape == (5, 7) and longest == length.max()
    expected = np.zeros((5, 7))
    for t in range(40):
        for r, w in zip(length[t], weight[t], strict=True):
            if w > segmentation.FAINTEST:
                cell = int(r * 5 / (longest + 1)), int(t * 7 / 40)
                expected[cell] = max(expected[cell], w)
    np.testing.assert_allclose(picture, expected)
    edges = segmentation._edges(np.arange(40.0), 40.0, 7)
    columns = np.searchsorted(edges, np.arange(40), side="right") - 1
    np.testing.assert_array_equal(columns, np.arange(40) * 7 // 40)


def test_claims_have_all_that_is_read_and_nothing_else():
    needed = {"dataset", "learner", "metric", "claim", "paper", "code", "why"}
    for claim in paper_and_code.claims():
        assert needed <= set(claim) <= needed | {"relative_to"}, claim


def test_ours_is_the_score_or_its_change_in_percent(study, monkeypatch):
    about = {
        "dataset": "nile",
        "learner": "robust",
        "paper": "",
        "code": "",
        "why": "",
        "claim": "",
    }
    claims = (
        about | {"metric": "n_changepoints"},
        about | {"metric": "squared_error", "relative_to": "standard"},
        about | {"metric": "squared_error", "learner": "standard", "relative_to": "robust"},
        about | {"metric": "squared_error", "relative_to": "absent"},
        about | {"metric": "f1"},
        about | {"metric": "n_changepoints", "dataset": "well-log"},
    )
    monkeypatch.setattr(paper_and_code, "claims", lambda: claims)
    errors = [study.score("nile", name, "squared_error")[0] for name in ("standard", "robust")]
    assert errors[1] > errors[0]
    assert paper_and_code.tabulate(study)["ours"].tolist() == [
        "1",
        f"{100 * (errors[1] / errors[0] - 1):.1f} % higher",
        f"{100 * (1 - errors[0] / errors[1]):.1f} % lower",
    ]


def test_a_study_without_claims_is_refused(study):
    with pytest.raises(UserError, match="has no claim about its streams"):
        paper_and_code.tabulate(study)
