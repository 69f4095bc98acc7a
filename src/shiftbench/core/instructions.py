"""Which instructions of the processor the numerical libraries may use.

Left alone, each library takes the widest that it finds, sums in another order, and gives other
last digits on another kind of processor. Portable instructions, those of AVX2 with FMA, are
set for every process before anything is imported, so that equal specs give equal bytes on all
x86-64 processors since 2013. Native ones are faster in large networks, and are taken by runs
that ask for them. Where a processor has no AVX2, only native ones are left: its results agree
with those of others to rounding.

Imports little: every process passes here.
"""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path

from shiftbench.core.errors import UserError

VARIABLE = "SHIFTBENCH_INSTRUCTIONS"
"""Environment variable: instructions of all runs, in the place of what their studies say."""
KINDS = ("portable", "native")

PINS = {
    # TensorFlow's matrix products and convolutions.
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    # Products and decompositions of NumPy, SciPy and scikit-learn.
    "OPENBLAS_CORETYPE": "Haswell",
    # Sums, exponentials and logarithms. Unknown to older NumPy, which would warn.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    # Compiled loops. By itself the name leaves numba all features of the host.
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "",
}
"""Environment variables of portable instructions, and what reads them."""
XLA, XLA_PIN = "XLA_FLAGS", "--xla_cpu_max_isa=AVX2"
"""The same for graphs that TensorFlow compiles, among flags that may be somebody else's."""

_in_force: str | None = None


def choose(kind: str) -> None:
    """Sets the instructions of this process and of those that it starts: portable or native.

    Too late for this process where NumPy was imported before; `in_force` tells.
    """
    global _in_force
    pinned = kind == "portable" and available()
    if "numpy" not in sys.modules or _in_force is None:
        before = pinned if "numpy" not in sys.modules else _is_pinned()
        _in_force = "portable" if before else "native"
    for name, value in PINS.items():
        if pinned:
            os.environ[name] = value
        elif os.environ.get(name) == value:
            del os.environ[name]
    others = [flag for flag in os.environ.get(XLA, "").split() if flag != XLA_PIN]
    flags = " ".join([*others, XLA_PIN] if pinned else others)
    if flags or XLA in os.environ:
        os.environ[XLA] = flags


def wanted() -> str | None:
    """What the user wants for all runs, in the place of what studies say; None for no wish.

    UserError if it is unknown.
    """
    kind = os.environ.get(VARIABLE) or None
    if kind not in (*KINDS, None):
        raise UserError(f'{VARIABLE} is "{kind}"; write portable or native, or unset it')
    return kind


def in_force() -> str:
    """What this process computes with: portable or native."""
    return _in_force or "native"


def available() -> bool:
    """Whether this processor has the portable instructions."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return x86 and {"avx2", "fma"} <= set(_of_processor("flags").split())


def processor() -> str:
    """The name of the processor."""
    return _of_processor("model name") or platform.processor() or platform.machine()


def _is_pinned() -> bool:
    held = all(os.environ.get(name) == value for name, value in PINS.items())
    return held and XLA_PIN in os.environ.get(XLA, "").split()


def _of_processor(key: str) -> str:
    """What Linux tells of the first processor; nothing elsewhere."""
    with suppress(OSError), Path("/proc/cpuinfo").open() as lines:
        for line in lines:
            if line.startswith(key):
                return line.partition(":")[2].strip()
    return ""
