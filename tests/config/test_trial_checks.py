"""Trials that train on judged rows are noted, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from shiftbench.config import components, config_file, trial_checks, tuning
from shiftbench.core import checkout
from shiftbench.data.tables import table_splits

PLAN = """
streams:
  table: {family: table-splits, dataset: breast-cancer, realisations: 3, validation: 60}
studies:
  study:
    title: A study
    streams: [table]
    seeds: 1
    model: mlp
    metrics: [accuracy]
    artefacts: [score-table]
    methods: {one: [map]}
    tuning:
      metric: accuracy
      trials: 2
      streams: {judge_on: validation, first_realisation: 100, realisations: 2}
      methods: {one: {map.strength: [1.0, 2.0]}}
"""


def planned(folder, stream, in_trials):
    data = yaml.safe_load(PLAN)
    data["streams"]["table"] |= stream
    data["studies"]["study"]["tuning"]["streams"] |= in_trials
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return config_file.load(path)


def rows(stream, *parts):
    """Return the rows of some parts of all splits of a stream, with the name of the data."""
    store = table_splits.build(table_splits.Settings(**stream.settings), Path())
    names = [f"{part}_rows" for part in parts]
    numbers = {int(row) for name in names for row in store[name].values.ravel()}
    return {(stream.settings["dataset"], number) for number in numbers}


ONE = {"realisations": 1, "first_realisation": 4}


@pytest.mark.parametrize(
    ("stream", "in_trials", "noted"),
    [
        ({}, {}, True),
        ({}, {"test_pool": 0.4}, True),
        ({"test_pool": 0.4}, {}, False),
        ({"test_pool": 0.4}, {"test_pool": 1.0}, True),
        ({"test_pool": 0.4}, {"test_pool": 0.5}, False),
        ({"test_pool": 0.5}, {"test_pool": 0.3}, True),
        (ONE, ONE, False),
        (ONE, {"realisations": 1}, True),
        ({}, {"dataset": "digits"}, False),
    ],
)
def test_a_note_says_whether_trials_train_on_judged_rows(tmp_path, stream, in_trials, noted):
    plan = planned(tmp_path, stream, in_trials)
    tried = plan.streams["table" + tuning.TRIALS]
    shared = rows(plan.streams["table"], "test") & rows(tried, "train", "validation")
    assert bool(shared) == noted
    notes = [*trial_checks.notes(plan)]
    assert len(notes) == noted
    if noted:
        assert notes[0].startswith('study: trials on stream "table" train on rows that the study')
        assert "set test_pool below 1" in notes[0]


def test_the_families_that_split_the_same_rows_anew_say_so():
    families = components.names("streams")
    facts = {family: components.facts("streams", family).possible("varies") for family in families}
    found = {
        key for key, words in facts.items() if any(w.startswith(trial_checks.SPLITS) for w in words)
    }
    assert found == {"fundus-images", "table-splits"}


def test_no_shipped_study_has_such_trials():
    for name in ("embedded", "cpu", "paper"):
        assert not [*trial_checks.notes(config_file.load(checkout.CONFIGS / f"{name}.yaml"))]
