"""Our side of each comparison runs at a tiny size, without the peers."""

from __future__ import annotations

import ast

import pytest

from perf import problems, work
from perf.comparisons import ALL
from perf.driver import ROOT, Comparison
from perf.worker import work_of
from shiftbench.core.interface import Problem
from shiftbench.methods.models import convnet

FAST = "perf.ours.networks:members"
"""The only comparison of training steps in the fast tests, since steps trace graphs."""


def names(comparisons: list[Comparison]) -> list[str]:
    return [comparison.part for comparison in comparisons]


def tiny(comparison: Comparison) -> work.Work:
    side = comparison.ours
    return work_of(side.function, side.arguments | comparison.tiny)


LIGHT = [one for one in ALL if one.group in ("rows", "online", "words")]
STEPS = [one for one in ALL if one.group == "steps"]


@pytest.mark.parametrize("comparison", LIGHT, ids=names(LIGHT))
def test_rows_run(comparison: Comparison) -> None:
    found = work.a_unit(tiny(comparison), waits=False)
    assert found.wall > 0


@pytest.mark.long
@pytest.mark.parametrize("comparison", STEPS, ids=names(STEPS))
def test_steps_run(comparison: Comparison) -> None:
    made = tiny(comparison)
    assert made.units > 0
    if comparison.ours.function == FAST:
        made.do()


@pytest.mark.long
@pytest.mark.parametrize("comparison", STEPS, ids=names(STEPS))
def test_all_steps_run_and_show(comparison: Comparison) -> None:
    made = tiny(comparison)
    work.a_unit(made, waits=False)
    if made.shows:
        assert all(array.any() for array in made.shows().values())


@pytest.mark.long
def test_check_runs() -> None:
    (check,) = [one for one in ALL if one.part.startswith("check")]
    assert work.a_unit(tiny(check), waits=False).cpu > 0


def test_parts_differ() -> None:
    parts = names(ALL)
    assert len(set(parts)) == len(parts)


def test_functions_of_all_sides_exist() -> None:
    """The peers are not installed here, so the test reads their files."""
    for one in ALL:
        for side in (one.ours, *one.theirs, *([one.limit] if one.limit else [])):
            module, _, name = side.function.partition(":")
            tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
            of_name = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
            accepted = {argument.arg for argument in of_name[name].args.args}
            assert set(side.arguments) | set(one.tiny if side is one.ours else {}) <= accepted


def test_versions_of_peers_are_pinned() -> None:
    lines = (ROOT / "envs/perf.txt").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in lines if "==" in line}
    assert {side.package for one in ALL for side in one.theirs if side.package} == pinned


def test_the_convnet_of_peers_is_ours() -> None:
    case = problems.CONVNET
    model = convnet.build(
        convnet.Settings(), Problem("classification", case.inputs, 10, case.rows, 1)
    )
    ours = [(layer.fan_in, layer.fan_out) for layer in model.layers]
    assert ours == [(layer.fan_in, layer.fan_out) for layer in case.layers]
