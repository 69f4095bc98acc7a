"""GPUs, which are visible only to processes whose run asks for one.

GPUs are hidden from all other processes before anything numerical is imported. So a run on the
processor gives the same bytes on a machine that has a GPU, and leaves it to those that asked.

Imports little: every process passes here.
"""

from __future__ import annotations

import ctypes
import os

VISIBLE, HIDDEN = "CUDA_VISIBLE_DEVICES", "-1"
"""The variable that tells CUDA which GPUs there are, and its value for none."""
BEFORE = "SHIFTBENCH_CUDA_VISIBLE_DEVICES"
"""The variable with the value before GPUs were hidden, for jobs that ask for one."""

SETTINGS = {
    # Full float32 products, and not TF32, which keeps 10 binary digits.
    "NVIDIA_TF32_OVERRIDE": "0",
    # Sums of matrix products in one order.
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    # Else TensorFlow takes all memory, of a GPU that others may have been given too.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}
"""Environment variables of processes that use a GPU, unless the user has set them."""

_in_force = "cpu"


def choose(kind: str) -> None:
    """Hide GPUs from this process and those that it starts (cpu), or let it have them (gpu).

    To be called before CUDA starts; importing TensorFlow does not start it.
    """
    global _in_force
    _in_force = kind
    hidden = os.environ.get(VISIBLE) in ("", HIDDEN)
    if kind == "cpu" and not hidden:
        os.environ[BEFORE] = os.environ.get(VISIBLE, "")
        os.environ[VISIBLE] = HIDDEN
    elif kind == "gpu":
        before = os.environ.pop(BEFORE, None)
        if hidden and before is not None:
            del os.environ[VISIBLE]
            os.environ.update({VISIBLE: before} if before else {})
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)


def record() -> dict[str, str]:
    """Return the device of a job: cpu, or gpu with the name of the first that it sees."""
    found = names() if _in_force == "gpu" else []
    return {"device": _in_force} | ({"gpu": found[0]} if found else {})


def names() -> list[str]:
    """Names of the GPUs that this process sees, as CUDA's driver has them; none without one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [_name(driver, number) for number in range(count.value)]


def _name(driver: ctypes.CDLL, number: int) -> str:
    device, text = ctypes.c_int(), ctypes.create_string_buffer(100)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(text, len(text), device)
    return text.value.decode(errors="replace")
