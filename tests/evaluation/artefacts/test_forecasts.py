"""Figures of correlation over time and of forecast quality, from runs of the harness."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from shiftbench.core.errors import UserError
from shiftbench.data.series import series
from shiftbench.evaluation.artefacts import correlation_over_time, forecast_quality
from shiftbench.evaluation.running.harness import run_job
from shiftbench.evaluation.scoring.statistics import interval
from tests.evaluation.artefacts import changed, paired
from tests.evaluation.scoring import stores

METRICS = ["crps", "coverage_50", "coverage_90", "pit", "predicted_correlation"]
LEARNERS = {
    "bocpd": [["run-length", {"keep": 20}], ["normal-inverse-wishart", {}]],
    "static": [["normal-inverse-wishart", {}]],
}
SEEDS = 4


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    fields = {"dataset": "simulated-correlation", "regressors": "constant", "series": 3}
    stream = series.build(series.Settings(**fields, realisations=SEEDS), Path())
    about = {"stream": "twin", "family": "series", "settings": fields}
    stream = stream.assign_attrs(spec=json.dumps(about))
    runs = [run(stream, name, tmp_path_factory.mktemp(name)) for name in LEARNERS]
    return stores.study("study", stream, [*METRICS, "pit_distance"], runs)


def run(stream, name, folder):
    spec = {
        "study": "study",
        "stream": {"name": "twin", "family": "series"},
        "method": name,
        "learner": LEARNERS[name],
        "model": None,
        "seeds": [0, SEEDS - 1],
        "reveals": [],
        "drift": "before-prediction",
        "metrics": METRICS,
        "code": "code",
    }
    return run_job(spec, stream, folder, minutes=5)[0]


@pytest.mark.long
def test_run_lengths_follow_the_correlation_and_all_rows_do_not(study):
    top, below = correlation_over_time.draw(study).get_axes()
    lines = {line.get_label(): line.get_ydata() for line in top.get_lines()}
    true = lines["true"]
    np.testing.assert_array_equal(np.unique(true), [0.0, 0.2, 0.6, 0.8])
    assert true[209] == 0.0 and true[210] == 0.6  # the change is at the first value of the segment
    late = slice(600, None)
    assert lines["bocpd"][late] == pytest.approx(true[late], abs=0.15)
    assert (lines["static"][late] < 0.5).all()
    found = study.run("twin", "bocpd")
    (block,) = correlation_over_time.draw(study).subfigs
    said = block.get_suptitle()
    assert said.startswith("twin: bocpd infers ") and said.endswith("; there are 3")
    assert correlation_over_time.caption(study).startswith(f"{said}. ")
    marks = [line for line in below.get_lines() if line.get_marker() == "|"]
    assert len(marks) == SEEDS == found.sizes["seed"]
    assert "Black: the true one" in correlation_over_time.caption(study)


def test_a_method_whose_correlation_is_undefined_has_no_line(study):
    undefined = changed.of_streams(study, {"twin": {("static", METRICS[-1]): np.nan}})
    top, _ = correlation_over_time.draw(undefined).get_axes()
    assert sorted(text.get_text() for text in top.texts) == ["bocpd", "true"]


def test_a_forecast_has_its_score_coverage_and_distance(study):
    crps, coverage, distance = forecast_quality.draw(study).get_axes()
    points = {
        panel: [bar.lines[0].get_xdata()[0] for bar in panel.containers]
        for panel in (crps, coverage)
    }
    golden = [study.score("twin", name, "crps").mean() for name in LEARNERS]
    assert points[crps] == pytest.approx(golden)
    golden = [
        study.score("twin", name, metric).mean()
        for metric in ("coverage_50", "coverage_90")
        for name in LEARNERS
    ]
    assert points[coverage] == pytest.approx(golden)
    assert golden == pytest.approx([0.5, 0.5, 0.9, 0.9], abs=0.03)
    assert len(distance.get_lines()[0].get_xdata()) == SEEDS
    assert "over seeds" in forecast_quality.caption(study)


def test_the_title_says_whose_crps_is_smallest(study):
    means = {name: study.score("twin", name, "crps").mean() for name in LEARNERS}
    best, last = sorted(means, key=means.get)
    said = (
        f"twin: {best} has the smallest CRPS of 2 methods, {means[best]:.3g};"
        " the other is significantly worse"
    )
    smaller, larger = (study.score("twin", name, "crps") for name in (best, last))
    assert paired.worse(smaller, [larger]).all()
    assert forecast_quality.draw(study).get_suptitle() == forecast_quality.message(study) == said
    assert forecast_quality.caption(study).startswith(f"{said}. Left: CRPS")
    failed = changed.of_streams(study, {"one": {(best, "crps"): np.nan}})
    assert forecast_quality.message(failed) == f"one: {last} has a CRPS of {means[last]:.3g}"


def test_the_title_counts_the_streams_with_the_smallest_crps(study):
    means = {name: study.score("twin", name, "crps").mean() for name in LEARNERS}
    best, last = sorted(means, key=means.get)
    worse = {(best, "crps"): 2 * means[last] / means[best]}
    three = changed.of_streams(study, {"one": worse, "two": {}, "three": worse})
    said = (
        f"{last} has the smallest CRPS on 2 of 3 streams; it is significantly better than all"
        " others on 2 of these"
    )
    assert paired.worse(three.score("one", last, "crps"), [three.score("one", best, "crps")]).all()
    assert forecast_quality.draw(three).get_suptitle() == said
    assert forecast_quality.caption(three).startswith(f"{said}. ")


def test_of_a_single_run_stretches_are_compared(study):
    first = {
        name: each.isel(seed=[0]) if "seed" in each.dims else each
        for name, each in study.scores.items()
    }
    one = dataclasses.replace(study, scores=first)
    stretches = {
        name: [each.mean() for each in np.array_split(one.by_task("twin", name, "crps")[0], 20)]
        for name in LEARNERS
    }
    best, last = sorted(stretches, key=lambda name: np.mean(stretches[name]))
    differ = paired.worse(stretches[best], [stretches[last]]).all()
    assert forecast_quality.message(one) == (
        f"twin: {best} has the smallest CRPS of 2 methods, {np.mean(stretches[best]):.3g};"
        f" {'the other is' if differ else 'no other is'} significantly worse"
        " (paired over 20 stretches of one run)"
    )


def test_a_single_run_has_an_interval_over_its_stretches():
    values = np.random.default_rng(0).random((1, 103))
    values[0, 5] = np.nan
    means = [np.nanmean(piece) for piece in np.array_split(values[0], 20)]
    found = forecast_quality.spread(values, "crps")
    assert found == interval(np.array(means), (0.0, None))


def test_a_study_without_the_metrics_is_refused(study):
    runs = [study.run("twin", name) for name in LEARNERS]
    bare = stores.study("study", study.streams["twin"], ["crps"], runs)
    with pytest.raises(UserError, match="coverage_50"):
        forecast_quality.draw(bare)
    with pytest.raises(UserError, match="predicted_correlation"):
        correlation_over_time.draw(bare)
