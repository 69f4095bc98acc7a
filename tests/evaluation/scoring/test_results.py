"""Values of runs on the seeds of a study, some of which failed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evaluation.scoring import stores

NAN = np.nan


def study(*statuses, first=5):
    """Return a study of seeds from `first` on, of learners with these statuses."""
    stream = stores.image_stream()
    runs = [
        stores.image_run(stream, f"m{number}", 0.8, status=list(status)).assign_coords(
            seed=np.arange(first, first + 3)
        )
        for number, status in enumerate(statuses)
    ]
    return stores.study("images", stream, stores.IMAGE_METRICS, runs)


FAILED = "failed: x"


@pytest.mark.parametrize(
    ("status", "values", "placed"),
    [
        (["ok", FAILED, "ok"], [10, 30], [10, NAN, 30]),
        ([FAILED, "ok", "ok"], [20.5, 30.5], [NAN, 20.5, 30.5]),
        (["ok", "ok", "ok"], [10, 20, 30], [10, 20, 30]),
        ([FAILED] * 3, [], [NAN] * 3),
    ],
)
def test_values_of_a_run_have_the_places_of_their_seeds(status, values, placed):
    results = study(["ok"] * 3, status)
    run = results.run("images", "m1")
    assert run.sizes["seed"] == len(values)
    found = results.on_seeds(run, np.array(values))
    np.testing.assert_array_equal(found, placed)


def test_placed_scores_are_those_of_the_study():
    results = study(["ok"] * 3, ["ok", FAILED, "ok"])
    for name in ("m0", "m1"):
        run = results.run("images", name)
        scores = run["score"].sel(metric="accuracy").mean("task").values
        placed = results.on_seeds(run, scores)
        np.testing.assert_allclose(placed, results.score("images", name, "accuracy"))
        assert len(placed) == 3
