"""Backtracking on a beam written by hand."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftbench.evaluation.scoring import beam_lineage, run_infos

# Two slots, four tasks. The last slot 0 descends from slot 1 at tasks 1 and 2; the last slot 1
# descends from slot 0 at task 2, whose parent is slot 0.
PARENT = [[[0, 0], [0, 0], [0, 1], [1, 0]]]
SHIFT = [[[0, 0], [0, 1], [0, 0], [0, 1]]]
RUN = xr.Dataset(
    {
        "info_parent": (("seed", "task", "hypothesis"), np.array(PARENT)),
        "info_shift": (("seed", "task", "hypothesis"), np.array(SHIFT)),
        "info_mean": (
            ("seed", "task", "hypothesis", "d"),
            np.arange(8.0).reshape(1, 4, 2, 1),
        ),
    }
)


def test_slots_of_the_ancestors():
    assert beam_lineage.lineage(RUN, 0).tolist() == [[0, 1, 1, 0]]
    assert beam_lineage.lineage(RUN, 1).tolist() == [[0, 0, 0, 1]]


def test_shifts_of_the_most_likely_and_of_the_second_history():
    assert beam_lineage.shifts(RUN).tolist() == [[False, True, False, False]]
    assert beam_lineage.shifts(RUN, 1).tolist() == [[False, False, False, True]]


def test_numbers_along_a_lineage_keep_further_dimensions():
    values = beam_lineage.along(RUN, "mean", beam_lineage.lineage(RUN, 0))
    assert values.tolist() == [[[0.0], [3.0], [5.0], [6.0]]]


def test_only_runs_with_both_infos_have_a_lineage():
    assert run_infos.has_lineage(RUN) and run_infos.has_history(RUN)
    without = RUN.drop_vars("info_shift")
    assert not run_infos.has_lineage(without) and not run_infos.has_history(without)
    kept = without.assign(info_map_log_joint=RUN["info_shift"])
    assert not run_infos.has_lineage(kept) and run_infos.has_history(kept)
