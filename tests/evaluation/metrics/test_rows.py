"""The rows of METRICS: facts are read without an import, and modules have one kind of stage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shiftbench.config import components, digest


@pytest.mark.parametrize("name", components.names("metrics"))
def test_a_row_read_without_import_is_that_of_the_module(name):
    row = components.load_metric(name)
    assert callable(row.score)
    assert components.metric(name) == replace(row, score=None)


def test_a_module_has_metrics_of_predictions_or_of_runs():
    """Otherwise editing a metric of finished runs would train them again."""
    stages = {}
    for name in components.names("metrics"):
        stage = components.metric(name).stage == "run"
        stages.setdefault(components.module_name("metrics", name), set()).add(stage)
    assert {len(kinds) for kinds in stages.values()} == {1}
    for module, kinds in stages.items():
        imported = digest.closure(module) & stages.keys()
        assert all(stages[other] == kinds for other in imported), module


def test_what_a_metric_is_about_does_not_change_the_code(tmp_path):
    package = tmp_path / "worded"
    (package / "metrics").mkdir(parents=True)
    row = 'METRICS = [Metric("{}", about="{}", unit="1", better=None, stage="run", score=mean)]\n'
    head = "from shiftbench.core.metric import Metric\ndef mean(run, stream): return 1\n"
    for file, (name, about) in {"a": ("x", "A."), "b": ("x", "B."), "c": ("y", "A.")}.items():
        (package / f"metrics/{file}.py").write_text(head + row.format(name, about))
    components.add("worded", package)
    try:
        one, other, third = (digest._content(f"worded.metrics.{file}") for file in "abc")
    finally:
        components.remove("worded")
    assert one == other != third
