"""Which methods are ranked, and on which streams: what a config's studies have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.errors import UserError
from shiftbench.planning import config, ranking, specs

STREAMS = ("a", "b", "c", "d")


def planned(folder: Path, *methods: str, metric: str = "acc") -> config.Config:
    """A config with one study a stream, which has these methods."""
    text = "streams:\n"
    for name in STREAMS:
        text += f"  {name}: {{family: permuted-images, tasks: 3}}\n"
    text += "studies:\n"
    for name, listed in zip(STREAMS, methods, strict=False):
        text += (
            f"  of-{name}: {{title: One, streams: [{name}], seeds: 2, model: mlp,"
            f" metrics: [accuracy, {metric}], methods: [{listed}], reveals: [boundaries, task_identity]}}\n"
        )
    (folder / "mine.yaml").write_text(text)
    return config.load(folder / "mine.yaml")


def test_methods_are_those_of_all_streams(tmp_path: Path) -> None:
    plan = planned(tmp_path, "finetune, ewc, si", "si, ewc, finetune, vcl", "finetune, si, ewc")
    found = ranking.plan(plan)
    assert found == ({"a": "of-a", "b": "of-b", "c": "of-c"}, ["ewc", "finetune", "si"])
    spec = specs.ranks(plan)
    assert spec["labels"]["si"] == plan.studies["of-a"].label("si")


def test_a_stream_that_shares_too_little_is_left_out(tmp_path: Path) -> None:
    some = "finetune, ewc, si, vcl"
    found = ranking.plan(planned(tmp_path, some, some, "finetune, ewc", some))
    assert found is not None
    assert list(found.streams) == ["a", "b", "d"] and len(found.methods) == 4


@pytest.mark.parametrize(
    ("methods", "metric"),
    [
        (("finetune, ewc", "finetune, ewc", "finetune, ewc"), "acc"),
        (("finetune, ewc, si", "finetune, ewc, si"), "acc"),
        (("finetune, ewc, si", "finetune, ewc, si", "finetune, ewc, si"), "bwt"),
    ],
    ids=["methods", "streams", "metric"],
)
def test_too_few_are_not_ranked(tmp_path: Path, methods, metric) -> None:
    plan = planned(tmp_path, *methods, metric=metric)
    assert ranking.plan(plan) is None
    with pytest.raises(UserError, match="too few streams share too few methods"):
        specs.ranks(plan)


def test_trials_are_not_ranked() -> None:
    found = ranking.plan(config.load("config/embedded.yaml"))
    assert found is not None
    assert not any(study.endswith("-tuning") for study in found.streams.values())
