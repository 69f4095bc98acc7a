"""Methods from a user's own folder, in Python: they learn, are copied and saved, and are edited."""

from __future__ import annotations

import copy
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import shiftbench as sb
from shiftbench.adapters.sklearn import OnlineRegressor
from shiftbench.api import _own_components
from shiftbench.api.input_error import InputError
from shiftbench.config import components, spec_code
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import statistics

LEARNER = '''
"""The mean of all rows, from the folder's own helper."""
from dataclasses import dataclass
import numpy as np
from shiftbench.core.facts import Facts
from shiftbench.core.interface import Gaussian, Learner

FACTS = Facts(takes={"value": "gaussian", "number": "gaussian"})

@dataclass(frozen=True)
class Settings:
    start: float = 0.0

def build(settings, problem, model=None):
    def init(seeds):
        shape = (len(seeds), 1, problem.n_outputs)
        return {"sum": np.full(shape, settings.start), "rows": np.zeros((len(seeds), 1))}
    def predict(state, inputs, seeds):
        from my_parts.helpers import mean
        found = np.repeat(mean(state)[:, None], inputs.shape[1], axis=2)
        return Gaussian(np.zeros(found.shape[:2]), found, np.ones(found.shape))
    def observe(state, batch, seeds):
        total = state["sum"] + batch.targets.sum(axis=1, keepdims=True)
        return {"sum": total, "rows": state["rows"] + batch.mask.sum(axis=1, keepdims=True)}, {}
    return Learner(init, predict, observe)
'''
HELPER = """
import numpy as np
def mean(state):
    return FACTOR * state["sum"] / np.maximum(state["rows"], 1)[..., None]
"""


METRIC = """
import numpy as np
from shiftbench.core.metric import Metric

def score(predictive, batch):
    mean = np.exp(predictive.log_weights)[..., None, None] * predictive.mean
    return abs(mean.sum(axis=1) - batch.targets).mean(axis=(1, 2))

METRICS = [
    Metric(
        "my_error", about="Absolute error.", unit="m", better="lower", stage="before",
        judges=("gaussian",), score=score, bounds=(0.0, None),
    )
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the learner `average`."""
    learners = tmp_path / "my_parts" / "learners"
    learners.mkdir(parents=True)
    (learners / "average.py").write_text(LEARNER)
    write_helper(learners.parent, 1)
    yield learners.parent
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_parts"]:
        del sys.modules[name]


def write_helper(folder: Path, factor: int) -> None:
    (folder / "helpers.py").write_text(HELPER.replace("FACTOR", str(factor)))


def averaging(folder: Path, **given) -> sb.method:
    """Return the method after the rows 1, 2 and 6."""
    m = sb.method(["average"], components=folder, **given)
    m.learn_many(None, [1.0, 2.0, 6.0])
    return m


def test_it_learns_and_is_forgotten_by_the_library(folder):
    assert averaging(folder).predict_one().mean == 3.0
    assert averaging(folder, start=3.0).predict_one().mean == 4.0
    assert list(components.packages()) == [components.OURS]
    with pytest.raises(InputError, match='unknown learner "average"'):
        sb.method(["average"])


def test_a_combinator_of_ours_goes_around_it(folder):
    m = sb.method(["reset", "average"], components=[folder])
    m.learn_many(None, [1.0, 2.0, 6.0])
    assert m.predict_one().mean == 0.0


def test_copies_pickles_and_files_predict_alike(folder, tmp_path):
    m = averaging(folder)
    m.save(tmp_path / "m.npz")
    loaded = sb.method(["average"], components=folder).load(tmp_path / "m.npz")
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m)), loaded):
        other.learn_one(None, 11.0)
        assert other.predict_one().mean == 5.0
    assert m.predict_one().mean == 3.0


def test_a_saved_method_is_loaded_after_its_folder_has_moved(folder, tmp_path):
    averaging(folder).save(tmp_path / "m.npz")
    other = tmp_path / "elsewhere" / "my_parts"
    other.parent.mkdir()
    folder.rename(other)
    m = sb.method(["average"], components=other).load(tmp_path / "m.npz")
    assert m.predict_one().mean == 3.0


def test_an_edit_counts_from_the_next_method_on(folder):
    before = averaging(folder)
    write_helper(folder, 2)  # of equal length, within the second that Python's bytecode has
    assert averaging(folder).predict_one().mean == 6.0
    assert before.predict_one().mean == 6.0, "it imports the helper when it predicts"


def test_a_copy_after_an_edit_has_the_settings_of_the_edited_file(folder):
    m = averaging(folder)
    file = folder / "learners" / "average.py"
    file.write_text(
        file.read_text().replace("start: float = 0.0", "start: float = 0.0\n    more: int = 1")
    )
    assert copy.deepcopy(m).predict_one().mean == 3.0


def test_the_digest_of_the_code_follows_an_edit(folder):
    """Runs from Python would else return the scores of the old code."""

    def digest() -> str:
        with _own_components.known([folder]):
            return spec_code.of_code(components.module_name("learners", "average"))["code"]

    first = digest()
    file = folder / "learners" / "average.py"
    file.write_text(file.read_text().replace("settings.start)", "settings.start + 1)"))
    assert digest() != first


def test_older_methods_go_on_when_others_are_made(folder):
    first = averaging(folder)
    second = averaging(folder, start=3.0)
    sb.method(["average"], components=folder)
    assert first.predict_one().mean == 3.0
    assert second.predict_one().mean == 4.0


def test_another_folder_of_the_same_name_is_refused(folder, tmp_path):
    m = averaging(folder)
    other = tmp_path / "elsewhere" / "my_parts"
    shutil.copytree(folder, other)
    with pytest.raises(InputError, match=f'"my_parts" is the name of another package, {folder}'):
        averaging(other)
    assert m.predict_one().mean == 3.0


def test_threads_share_a_folder(folder):
    def mean(_) -> float:
        return averaging(folder).predict_one().mean

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(mean, range(24))) == {3.0}


def test_wrong_folders_are_refused(folder, tmp_path):
    with pytest.raises(InputError, match=r"there is no folder .*nowhere; correct `components`"):
        sb.method(["average"], components=tmp_path / "nowhere")
    with pytest.raises(InputError, match="components: 3; give a path"):
        sb.method(["average"], components=3)
    (folder / "learners" / "average.py").write_text("FACTS = 1 +")
    with pytest.raises(InputError, match=r"average\.py, line 1"):
        sb.method(["average"], components=folder)
    (tmp_path / "numpy").mkdir()
    with pytest.raises(InputError, match="name of another package"):
        sb.method(["average"], components=tmp_path / "numpy")
    assert sys.modules["numpy"] is np
    assert list(components.packages()) == [components.OURS]


def test_a_malformed_state_names_the_learner(folder):
    file = folder / "learners" / "average.py"
    file.write_text(file.read_text().replace('return {"sum": total', 'return [1], {"sum": total'))
    with pytest.raises(Exception, match="average"):
        averaging(folder)


def test_a_negative_variance_is_an_error(folder):
    file = folder / "learners" / "average.py"
    file.write_text(LEARNER.replace("np.ones(found.shape)", "-0.1 * np.ones(found.shape)"))
    m = averaging(folder)
    for predict in (m.predict_one, lambda: m.predict_many(2)):
        with pytest.raises(InputError, match=r"predicts a negative variance; look at `predict`"):
            predict()


def test_changepoints_and_estimators_take_it(folder):
    values = np.repeat([0.0, 9.0], 30) + np.tile([0.1, -0.1], 30)
    detect = {"detect": {"detector": "focus", "threshold": 12.0}}
    found = sb.changepoints(values, [detect, "average"], components=folder)
    assert len(found.frame) == 1
    assert 30 <= found.frame["position"].iloc[0] <= 45, "the place of the alarm"
    r = OnlineRegressor(["average"], components=folder, settings={"start": 3.0})
    assert r.fit([[0.0], [0.0], [0.0]], [1.0, 2.0, 6.0]).predict([[0.0]]) == [4.0]


PARTS = {"near": ["gaussian-mean"], "far": [{"gaussian-mean": {"prior_variance": 9.0}}]}


@pytest.fixture
def measured(folder: Path, called: list[str]) -> xr.Dataset:
    """Return scores by a metric of the folder."""
    (folder / "metrics").mkdir()
    (folder / "metrics" / "error.py").write_text(METRIC)
    steps = sb.stream("toy-step", points=8)
    found = sb.run(PARTS, steps, seeds=3, metrics=["my_error"], components=folder)
    assert list(components.packages()) == [components.OURS]
    return found


def compared(scores: xr.Dataset) -> list[str]:
    """Return the methods of scores of one stream, the best by the metric of the folder first."""
    by_name = sb.compare(scores, "my_error")
    assert sb.compare(scores).equals(by_name)
    assert sb.compare(scores.isel(metric=0)).equals(by_name)
    return [*by_name["learner"], *by_name["next"][-1:]]


def test_scores_know_the_metrics_of_a_folder_after_the_call(measured):
    of_metric = {key: measured[key].item() for key in ("unit", "better", "lowest", "highest")}
    assert of_metric == {"unit": "m", "better": "lower", "lowest": 0.0, "highest": np.inf}
    means = measured["score"].mean("seed").squeeze().to_series()
    assert compared(measured) == means.sort_values().index.tolist()
    upside_down = measured.assign_coords(better=("metric", ["higher"]))
    assert compared(upside_down) == compared(measured)[::-1]


def test_loaded_scores_know_the_metrics_of_a_folder(measured, folder, tmp_path):
    study = tmp_path / "results" / "studies" / "study"
    study.mkdir(parents=True)
    rows = measured["score"].to_series().rename("score").reset_index()
    rows = rows.assign(study="study", method="", status="ok")
    rows.to_csv(study / "scores.csv", index=False)
    without = sb.load(tmp_path / "results")
    with pytest.raises(
        UserError, match=r"my_error: .*do not say .*sb\.load\(FOLDER, components=\.\.\.\)"
    ):
        sb.compare(without.study("study"))
    assert set(without.intervals("study")["metric"]) == {"my_error"}
    known = sb.load(tmp_path / "results", components=folder)
    assert known.study("study")["better"].item() == "lower"
    assert compared(known.study("study")) == compared(measured)
    row = known.intervals("study").iloc[0]
    values = measured["score"].sel(learner=row["learner"]).values.ravel()
    assert row["low"] == statistics.interval(values, (0.0, None)).low
    assert row["low"] != without.intervals("study")["low"].iloc[0]
    assert list(components.packages()) == [components.OURS]
