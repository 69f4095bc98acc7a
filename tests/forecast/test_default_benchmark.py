"""The default benchmark stays short."""

from __future__ import annotations

from pathlib import Path

from shiftbench.config import config_file, jobs
from shiftbench.forecast import plan, records
from shiftbench.forecast.estimate import Estimator

CONFIG, MINUTES = Path("config/embedded.yaml"), 15


def test_the_default_benchmark_is_forecast_to_take_about_ten_minutes() -> None:
    """The forecast follows from published costs, so it is the same on every machine.

    The machine that publishes them is twice as fast on some days as on others.
    """
    every = jobs.of_config(config_file.load(CONFIG), Path("results/none"), CONFIG.stem)
    known = Estimator(records.collect([Path("results/published/embedded")]), machine="")
    costs = plan.costs(every, known, CONFIG.stem)
    each = [(costs[job.outputs[0]].wall, job.resources.threads) for job in every]
    minutes = plan.makespan(each, cores=2) / 60
    assert MINUTES / 3 < minutes < MINUTES, f"{minutes:.1f}: take seeds or studies out of {CONFIG}"
