"""Every method has a measured cost of a step or row, or a reason why not."""

from __future__ import annotations

import pytest
import yaml

from perf import costs, work
from perf.ours import methods
from perf.problems import Case
from shiftbench.config import components, method_costs
from shiftbench.config.method_costs import Costs, Step

SMALL = Case((8,), (6,), 20, 10)
NAMES = costs.measurable()
NETWORKS = [name for name in NAMES if methods.takes(name)[0]]
ONLINE = [name for name in NAMES if name not in NETWORKS]
BY_LEARNER = {methods.pipeline(name)[-1][0]: name for name in NETWORKS}
FAST = "page-hinkley", "wolf-bocpd", "soft-reset-linear", "vbs-logistic", "dsm"


def test_every_method_with_a_pipeline_is_measured_or_has_a_reason():
    known = methods.library().methods
    with_pipeline = {name for name in known if methods.pipeline(name)}
    assert {*NAMES, *costs.REASONS} == with_pipeline
    assert not set(NAMES) & set(costs.REASONS)
    found = method_costs.measured()
    assert found.not_measured == costs.REASONS
    assert set(found.steps) <= set(NETWORKS) and set(found.rows) <= set(ONLINE)


@pytest.mark.parametrize("method", FAST)
def test_rows_of_methods_on_line(method):
    assert method in ONLINE
    made = methods.rows(method, 20)
    assert made.units == 20
    assert work.a_unit(made, waits=False).wall > 0


def test_rows_are_the_same_in_blocks_and_one_by_one():
    problem, batch = methods._of_rows(methods.takes("wolf")[1], 30)
    learner = methods.assemble(methods.pipeline("wolf"), None, problem)
    key = methods.seeding.block(range(1), "perf")
    states = [run(learner, batch, key) for run in (methods._in_blocks, methods._one_by_one)]
    assert learner.block
    assert all((states[0][name] == states[1][name]).all() for name in states[0])


@pytest.mark.long
def test_methods_with_heads_get_rows_of_two_tasks():
    assert components.facts("learners", "hat").possible("requires")
    made = methods.steps("hat", (1, 2), SMALL)
    assert made.units == 2
    assert made.without is not None


@pytest.mark.long
@pytest.mark.parametrize("method", BY_LEARNER.values())
def test_a_method_of_each_learner_has_steps(method):
    assert work.a_unit(methods.steps(method, (1, 2), SMALL), waits=False).wall != 0


def test_the_committed_tables_are_those_of_the_file():
    begin, end = costs.BEGIN, costs.END
    text = costs.TABLE.read_text().partition(begin)[2].partition(end)[0]
    assert text == costs.tables(method_costs.measured())


@pytest.mark.parametrize("rows", [{}, {"wolf": 4.2}])
def test_the_file_is_read_as_it_is_written(tmp_path, monkeypatch, rows):
    steps, reasons = {"vcl": Step(12100.0, 996.0, 12.1)}, {"joint": "more rows"}
    found = Costs("As `said`: all.", steps, {**rows, "gone": 1.0}, reasons)
    monkeypatch.setattr(costs, "FILE", tmp_path / "costs.yaml")
    costs._write(found)
    read = method_costs.parsed(yaml.safe_load((tmp_path / "costs.yaml").read_text()))
    assert read == found._replace(rows=rows)


def test_a_row_is_measured_in_microseconds():
    assert 0 < costs.row("page-hinkley", 1) < 1e5
