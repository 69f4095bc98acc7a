"""The processor instructions that the numerical libraries may use.

By default each library takes the widest instructions that it finds, so it sums in another order
and gives other last digits on another kind of processor. Portable instructions (AVX2 with FMA)
are set for every process before anything is imported, so that equal specs give equal bytes on all
x86-64 processors since 2013. Native instructions are faster in large networks; runs ask for them.
A processor without AVX2 has only native instructions: its results agree with others to rounding.

This module imports little, because every process imports it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from shiftbench.core.errors import UserError

VARIABLE = "SHIFTBENCH_INSTRUCTIONS"
"""Environment variable that sets the instructions of all runs, whatever their studies say."""
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
"""Environment variables of portable instructions, by the libraries that read them."""
XLA = "XLA_FLAGS"
# The second turns off the library YNNPACK, whose products and sums take the widest instructions.
XLA_PINS = ("--xla_cpu_max_isa=AVX2", "--xla_cpu_experimental_ynn_fusion_type=")
"""The same for graphs that TensorFlow compiles; the variable may hold flags of others too."""

_in_force: str | None = None


def choose(kind: str) -> None:
    """Set the instructions of this process and of its children: portable or native.

    Without effect on this process if NumPy is already imported; see `in_force`.
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
    others = [flag for flag in os.environ.get(XLA, "").split() if flag not in XLA_PINS]
    flags = " ".join([*others, *XLA_PINS] if pinned else others)
    if flags or XLA in os.environ:
        os.environ[XLA] = flags


def wanted() -> str | None:
    """Return the instructions that the user has set for all runs, or None.

    Raises UserError if the value is unknown.
    """
    kind = os.environ.get(VARIABLE) or None
    if kind not in (*KINDS, None):
        raise UserError(f'{VARIABLE} is "{kind}"; write portable or native, or unset it')
    return kind


def in_force() -> str:
    """Return the instructions that this process uses: portable or native."""
    return _in_force or "native"


def available() -> bool:
    """Return whether this processor has the portable instructions."""
    x86 = os.uname().machine.lower() in ("x86_64", "amd64")
    return x86 and {"avx2", "fma"} <= set(_of_processor("flags").split())


def processor() -> str:
    """Return the name of the processor."""
    if name := _of_processor("model name"):
        return name
    import platform  # here, since every process passes above

    return platform.processor() or platform.machine()


def _is_pinned() -> bool:
    pinned = all(os.environ.get(name) == value for name, value in PINS.items())
    return pinned and set(XLA_PINS) <= set(os.environ.get(XLA, "").split())


def _of_processor(key: str) -> str:
    """Return a field of the first processor in Linux's /proc/cpuinfo; empty on other systems."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(key):
                return line.partition(":")[2].strip()
    return ""
