"""The published study of the well-log against golden numbers of independent implementations."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from shiftbench.config import components, config_file
from shiftbench.core import seeds
from shiftbench.data.series import series
from shiftbench.evaluation.running import pipeline
from shiftbench.evaluation.scoring import segmentation
from tests.checkout import ROOT
from tests.real_files import MIRROR, needs_mirror

pytestmark = needs_mirror
# Positions from two independent implementations, counted from 1 (notes on knoblauch2018robust).
ROBUST = [
    20, 578, 1035, 1071, 1527, 1686, 1867, 2049, 2409, 2471, 2532, 2592, 2771, 2784, 3943, 3966,
]  # fmt: skip
STRONG = [20, 1071, 1527, 1686, 1867, 2049, 2409, 2471, 2592, 2780, 3966]


@pytest.fixture(scope="module")
def plan():
    return config_file.load(ROOT / "config" / "cpu.yaml")


@pytest.fixture(scope="module")
def stream(plan):
    raw = MIRROR / "well-log"
    settings = plan.streams["well-log"].settings
    return series.build(components.configured("streams", "series", settings), raw)


def changepoints_of(plan, stream, method):
    """Return the changepoints, counted from 1, and how often run length 0 is the most probable."""
    learner = pipeline.assemble(
        plan.studies["well-log"].pipelines[method], None, series.problem(stream)
    )
    key, infos = seeds.block(range(1), "well-log"), []
    state = learner.init(key)
    for t in range(stream.sizes["task"]):
        batch = series.task(stream, [0], t).train
        state, info = learner.observe(learner.drift(state, key), batch, key)
        infos.append(info)
    dims = ("seed", "task", "hypothesis")
    stacked = {k: np.stack([info[k] for info in infos], axis=1) for k in infos[0]}
    run = xr.Dataset({f"info_{name}": (dims, array) for name, array in stacked.items()})
    (points,) = segmentation.changepoints(run) or []
    argmax = segmentation.run_length_argmax(run)
    assert argmax is not None
    return points + 1, int((argmax == 0).sum())


def test_standard_is_at_zero_26_times_with_30_changepoints(plan, stream):
    points, zeros = changepoints_of(plan, stream, "standard")
    assert zeros == 26 and len(points) == 30


@pytest.mark.parametrize(("method", "golden"), [("robust", ROBUST), ("robust-strong", STRONG)])
def test_robust_finds_the_golden_changepoints(plan, stream, method, golden):
    points, _ = changepoints_of(plan, stream, method)
    assert len(points) == len(golden)
    assert np.abs(points - golden).max() <= 2
