"""Portable instructions are set in every process before an import, and claimed only if in force."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from shiftbench.cli import main, training
from shiftbench.config import config_file, specs
from shiftbench.core import instructions
from shiftbench.core.errors import UserError
from tests import job_calls
from tests.cli.test_main import CONFIG

portable = pytest.mark.skipif(not instructions.available(), reason="no AVX2: rounding only")


def python(code: str, **environment: str) -> str:
    """Return the output of the code, in a process whose parent sets no instructions."""
    names = (*instructions.PINS, instructions.XLA)
    plain = {k: v for k, v in os.environ.items() if k not in names}
    return subprocess.check_output(
        [sys.executable, "-c", code], env=plain | environment, text=True
    ).strip()


@portable
def test_numpy_and_numba_leave_out_what_other_processors_lack() -> None:
    from numpy._core._multiarray_umath import __cpu_features__ as features

    dispatched = instructions.PINS["NPY_DISABLE_CPU_FEATURES"].split()
    assert features["AVX2"] and not any(features[name] for name in dispatched)

    @njit
    def total(values):
        return values.sum()

    total(np.ones(3))
    target = next(iter(total.inspect_llvm().values()))
    assert "avx512" not in target
    codegen = total.overloads[total.signatures[0]].library.codegen
    assert codegen.magic_tuple()[1:] == ("haswell", "")


@portable
def test_openblas_takes_the_kernels_that_were_named() -> None:
    from threadpoolctl import threadpool_info

    kinds = {lib["architecture"] for lib in threadpool_info() if lib["internal_api"] == "openblas"}
    assert kinds == {"Haswell"}


@portable
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import shiftbench", "portable"),
        ("import numpy, shiftbench", "native"),
        ("import numpy, shiftbench; shiftbench.core.instructions.choose('portable')", "native"),
        ("import shiftbench, numpy; shiftbench.core.instructions.choose('native')", "portable"),
        ("import shiftbench; shiftbench.core.instructions.choose('native')", "native"),
    ],
)
def test_what_is_in_force_follows_the_first_import_of_numpy(code: str, kind: str) -> None:
    assert python(f"{code}; print(shiftbench.core.instructions.in_force())") == kind


@portable
def test_flags_of_the_user_stay() -> None:
    code = "import os, shiftbench; shiftbench.core.instructions.choose('native'); "
    code += "print(os.environ['XLA_FLAGS'], *shiftbench.core.instructions.PINS.keys() & os.environ)"
    assert python(code, XLA_FLAGS="--mine") == "--mine"


def test_the_wish_of_the_user_comes_before_the_study(tmp_path, monkeypatch) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(CONFIG.replace("    seeds: 3\n", "    seeds: 3\n    instructions: native\n"))
    plan = config_file.load(path)

    def planned() -> dict:
        return specs.run(plan, "toy", "steps", "search", (0, 2))

    native = planned()
    monkeypatch.setenv(instructions.VARIABLE, "portable")
    assert (native["instructions"], planned()["instructions"]) == ("native", "portable")
    assert native["digest"] != planned()["digest"]
    monkeypatch.setenv(instructions.VARIABLE, "fast")
    with pytest.raises(UserError, match="write portable or native"):
        planned()


@portable
def test_a_run_does_not_compute_with_other_instructions_than_planned(
    tmp_path, monkeypatch, caplog
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(instructions.VARIABLE, "native")
    (tmp_path / "small.yaml").write_text(CONFIG)
    job = job_calls.planned(Path("small.yaml"), "r")[
        "run_method", "toy", "steps", "search", "0", "2"
    ]
    assert main.main(job_calls.arguments(job, tmp_path / "specs")) == 2
    assert "planned with native instructions" in caplog.text


@portable
def test_without_avx2_a_run_says_so_and_goes_on(monkeypatch, caplog) -> None:
    monkeypatch.setattr(instructions, "_in_force", "native")
    monkeypatch.setattr(instructions, "available", lambda: False)
    training._refuse_other_instructions("portable")
    assert "agree with those of others to rounding" in caplog.text


@pytest.mark.parametrize("kind", instructions.KINDS)
def test_the_command_line_chooses_before_anything_is_imported(kind: str) -> None:
    code = "import sys; from shiftbench import __main__; from shiftbench.core import instructions; "
    code += f"__main__.main(['--stack', 'light', '--instructions', '{kind}', 'list', 'models']); "
    code += "print(instructions.in_force())"
    wanted = kind if instructions.available() else "native"
    assert python(code).splitlines()[-1] == wanted
