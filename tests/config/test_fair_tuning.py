"""Every shipped tuned study treats its methods alike, and judges no row used by a trial."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shiftbench.config import config_file, tuning
from shiftbench.config.schema import Config, Study
from shiftbench.core import checkout

RATES = {"run-length.hazard", "beam.prior_log_odds", "soft-reset.hazard"}
"""Settings that determine how often the distribution changes."""
IMAGES = {"permuted-images", "permuted-labels", "split-images", "transformed-images"}
"""Families whose trials are judged on training images, and whose studies on test images."""


@pytest.fixture(scope="module")
def plan() -> Config:
    return config_file.load(checkout.CONFIGS / "cpu.yaml")


@pytest.fixture(scope="module")
def tuned(plan: Config) -> Mapping[str, Study]:
    found = {name: study for name, study in plan.studies.items() if study.tuning is not None}
    assert len(found) > 15
    return found


def _rates(study: Study, method: str) -> set[str]:
    """Return the settings of the rate of change that a method has."""
    pipeline = study.methods[method].pipeline
    return {f"{part}.{key}" for part, settings in pipeline for key in settings} & RATES


def test_all_methods_of_a_study_have_as_many_trials_of_as_many_seeds(tuned, plan):
    for name, study in tuned.items():
        trials = {len(tuning.points(name, study, method)) for method in study.methods}
        assert trials == {study.tuning.trials}, name
        tried = plan.studies[name + tuning.TRIALS]
        assert tried.seeds == study.tuning.seeds and len(tried.methods) == sum(
            study.tuning.trials for _ in study.methods
        )


def test_the_rate_of_change_is_searched_for_all_methods_that_have_one_or_for_none(tuned):
    for name, study in tuned.items():
        searched = {
            method: rates <= set(tuning.space(study, method))
            for method in study.methods
            if (rates := _rates(study, method))
        }
        assert len(set(searched.values())) <= 1, f"{name}: {searched}"


def test_no_row_is_both_tried_and_judged(tuned, plan):
    for name, study in tuned.items():
        for stream in study.streams:
            judged, tried = plan.streams[stream], plan.streams[stream + tuning.TRIALS]
            assert tried.settings["judge_on"] == "validation", name
            assert judged.settings.get("judge_on", "test") == "test", name
            apart = tried.family in IMAGES or judged.settings.get("test_pool", 1.0) < 1
            assert apart, f"{name}: the splits of {stream} share the rows of one table"
            first = judged.settings.get("first_realisation", 0)
            assert first + study.seeds <= tried.settings["first_realisation"], name
