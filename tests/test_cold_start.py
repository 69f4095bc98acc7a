"""Jobs that start together where nothing is compiled yet: none crashes, all get the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiftbench.core import instructions
from tests import compiled_code

LOSSES = """
import sys
import numpy as np
from shiftbench.methods.posteriors import beta_posterior
from shiftbench.methods.online import losses

before = (beta_posterior.digamma, beta_posterior.trigamma)
[function(1.5) for function in before[: int(sys.argv[1])]]
print(*losses.Loss("hinge").expected(np.ones(3), np.arange(3.0), np.ones(3)))
"""


def test_losses_compiled_side_by_side(tmp_path) -> None:
    """By processes that have compiled nothing before, one function, or two."""
    source = compiled_code.without_cache(tmp_path)
    together = compiled_code.side_by_side(source, [["-c", LOSSES, n] for n in "012"])
    later = compiled_code.side_by_side(source, [["-c", LOSSES, "0"]])
    assert [status for status, _ in together + later] == [0] * 4
    assert len({output for _, output in together + later}) == 1


@pytest.mark.long
def test_all_compiled_code_side_by_side(tmp_path) -> None:
    source = compiled_code.without_cache(tmp_path)
    together = compiled_code.side_by_side(source, map(compiled_code.command, range(0, 12, 3)))
    later = compiled_code.side_by_side(source, [compiled_code.command(0)])
    assert [status for status, _ in together + later] == [0] * 5
    said = [json.loads(output) for _, output in together + later]
    assert all(one["digests"] == said[0]["digests"] for one in said)
    for function in said[0]["signatures"]:
        known = {signature for one in said for signature in one["signatures"][function]}
        # More than one is not safe, see _compiled.py: make its arguments of one type.
        assert len(known) == 1, function


@pytest.mark.skipif(not instructions.available(), reason="all instructions are native here")
def test_each_kind_of_instructions_has_a_folder_of_its_own() -> None:
    code = "import os, sys; from shiftbench import __main__; "
    code += "__main__.main(['--instructions', sys.argv[1], 'list', 'models']); "
    code += "print(os.environ['NUMBA_CACHE_DIR'])"
    source = compiled_code.PACKAGE.parent
    found = compiled_code.side_by_side(source, [["-c", code, k] for k in instructions.KINDS])
    portable, native = (output.splitlines()[-1] for _, output in found)
    assert Path(portable).parent == Path(native).parent and portable != native
