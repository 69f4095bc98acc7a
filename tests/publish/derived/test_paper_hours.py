"""The forecast of the paper's budgets adds up, and follows the published costs of runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from shiftbench.config import config_file
from shiftbench.core import checkout
from shiftbench.publish.derived import paper_hours
from shiftbench.publish.derived.evidence import PublishedResults
from tests.checkout import ROOT

SOURCE = Path("cpu/studies/cheaper-fits")


def core_hours(line: list[str]) -> float:
    return float(line[2].replace(",", ""))


def published(folder: Path, factor: float) -> PublishedResults:
    """Publish the costs of one study alone, multiplied by a factor."""
    costs = pd.read_csv(ROOT / "results/published" / SOURCE / "costs.csv")
    costs[["cpu", "wall"]] *= factor
    (folder / SOURCE).mkdir(parents=True)
    costs.to_csv(folder / SOURCE / "costs.csv", index=False)
    return PublishedResults(folder)


def test_the_sum_is_that_of_the_studies():
    lines, total = paper_hours.of_studies(PublishedResults(ROOT / "results/published"))
    said = float(total.split()[2].replace(",", ""))
    studies = config_file.load(checkout.CONFIGS / "paper.yaml").studies
    assert [line[0] for line in lines] == [f"`{study}`" for study in studies]
    assert said == pytest.approx(sum(map(core_hours, lines)), rel=1e-3)


def test_runs_that_took_longer_make_the_forecast_longer(tmp_path: Path):
    once, twice = (
        {
            row[0]: float(row[1].replace(",", ""))
            for row in paper_hours.of_fits(published(tmp_path / name, n))
        }
        for name, n in (("once", 1.0), ("twice", 2.0))
    )
    # The paper's runs are so much larger that the cost of any published run counts for more.
    assert twice["`vcl`"] > 1.05 * once["`vcl`"]
