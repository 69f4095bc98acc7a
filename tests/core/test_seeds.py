"""Seeds by name: equal keys give equal seeds, other keys give others."""

from __future__ import annotations

import numpy as np

from shiftbench.core import seeds


def test_folding_each_seed_is_folding_them_one_by_one():
    block = seeds.block(range(5), "study", "stream")
    together = seeds.fold_each(block, 3, "observe")
    alone = [seeds.fold(int(a), int(b), 3, "observe") for a, b in block]
    np.testing.assert_array_equal(together, alone)
    assert together.dtype == np.int32 and len(np.unique(together, axis=0)) == 5


def test_every_part_of_a_key_counts():
    keys = [("a", 1), ("a", 2), ("b", 1), (1, "a"), ("a1",)]
    assert len({tuple(seeds.fold(*key)) for key in keys}) == len(keys)
