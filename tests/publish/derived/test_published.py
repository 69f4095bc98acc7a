"""The overview of published results is computed from their files and equals the committed one."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from shiftbench.config import claims
from shiftbench.config.library import OURS, Library
from shiftbench.evaluation.overview import ranks
from shiftbench.publish.derived import costs, published

METHODS = ("a", "b", "c")


def study(
    folder: Path, name: str, tuned: bool = True, config: str = "cpu", more: float = 0.0
) -> None:
    """Write the scores of a published study, and the folder of its trials.

    more: is added to every score.
    """
    place = folder / config / "studies" / name
    place.mkdir(parents=True)
    rows = [
        {"study": name, "stream": name, "learner": method, "method": method, "metric": "acc",
         "seed": seed, "score": 0.5 + more + 0.1 * number + 0.01 * seed, "status": "ok"}
        for number, method in enumerate(METHODS)
        for seed in range(3)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(place / "scores.csv", index=False)
    if tuned:
        place.with_name(f"{name}-tuning").mkdir()


@pytest.mark.long
def test_only_methods_that_were_tuned_alike_are_ranked(tmp_path):
    for name in ("one", "two"):
        study(tmp_path, name)
    study(tmp_path, "three", tuned=False)
    assert set(published.tuned_scores(tmp_path)["study"]) == {"cpu/one", "cpu/two"}
    names = [path.name for path in published.write(tmp_path, some_claims(), {})]
    made = ["ledger.csv", "ledger.md", "ledger.png", "ledger.svg", "costs.csv", "costs.md"]
    assert names == made
    study(tmp_path, "four")
    names = [path.name for path in published.write(tmp_path, some_claims(), {})]
    assert names == [*made, "ranks.png", "ranks.svg"]


def test_studies_of_the_same_name_in_two_configs_are_not_averaged(tmp_path):
    for name in ("one", "two", "three"):
        study(tmp_path, name)
    study(tmp_path, "one", config="gpu", more=0.5)
    means = ranks.shared(published.tuned_scores(tmp_path))
    assert means.loc["one"].to_dict() == means.loc["two"].to_dict()
    assert len(means) == 3, "a stream counts once"


def test_costs_are_those_of_the_provenance_and_what_20_seeds_would_be(tmp_path):
    study(tmp_path, "one")
    place = tmp_path / "cpu" / "studies"
    for name, hours in (("one", 0.3), ("one-tuning", 0.5)):
        origin = {"core_hours": hours, "runs": 9, "commit": "abc"}
        (place / name / "provenance.json").write_text(json.dumps(origin))
    study(tmp_path, "old", tuned=False)  # published before costs were recorded
    (row,) = costs.collect(tmp_path).to_dict("records")
    assert row == {
        "config": "cpu", "study": "one", "seeds": 3, "runs": 9, "core_hours": 0.3, "trials": 0.5,
        "at_20_seeds": 2.5, "commit": "abc", "verified": "",
    }  # fmt: skip
    assert "Together 0.8. Machines" in costs.caption(costs.collect(tmp_path))


def test_few_core_hours_are_shown_as_few_and_not_as_none():
    rows = pd.DataFrame(
        {"seeds": [1, 40], "core_hours": 0.0, "trials": [float("nan"), 0.25],
         "at_20_seeds": [0.0, 0.25]}
    )  # fmt: skip
    assert costs.shown(rows).to_dict("list") == {
        "seeds": [1, 40], "core_hours": ["under 0.001"] * 2, "trials": ["", "0.25"],
        "at_20_seeds": ["under 0.02", "0.25"],
    }  # fmt: skip


def test_costs_say_which_runs_were_computed_again(tmp_path):
    for name, verdict in (("one", "identical"), ("two", "rounding"), ("three", "identical")):
        study(tmp_path, name, tuned=False)
        entry = {"commit": "def", "of": 9, "runs": {"a": verdict, "b": verdict}}
        origin = {"core_hours": 1, "runs": 9, "commit": "abc", "verified": entry}
        (tmp_path / "cpu/studies" / name / "provenance.json").write_text(json.dumps(origin))
    rows = costs.collect(tmp_path)
    assert rows["verified"].tolist()[0] == "2 of 9 runs computed again by commit def: 2 identical"
    counted = "computed again later by `shiftbench verify`: 4 runs identical, 2 rounding"
    assert f"Runs of 3 of the 3 studies were {counted}. " in costs.caption(rows)


def test_without_a_table_nothing_has_run(tmp_path):
    published.write(tmp_path, some_claims(), {})
    rows = pd.read_csv(tmp_path / "ledger.csv")
    assert set(rows["verdict"]) == {"not run"} and len(rows) == len(some_claims())


def some_claims():
    """Return a few claims, because the figure of all claims takes seconds."""
    ours = list(claims.load(Library(OURS)).values())[:5]
    return [one.model_dump(exclude_none=True) for one in ours]
