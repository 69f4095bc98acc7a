"""The choice of a job's device: the processor, or a GPU if its spec asks for one."""

from __future__ import annotations

import platform
from typing import Any

from shiftbench.core import devices
from shiftbench.core.errors import UserError


def take(spec: dict[str, Any]) -> None:
    """Let the process use the device of a spec. UserError if that is a GPU and there is none."""
    device = spec.get("device", "cpu")
    devices.choose(device)
    if device == "cpu":
        return
    found, host = devices.names(), platform.node()
    if not found:
        raise UserError(
            f"this run asks for a GPU (device: gpu), and {host} has none for it: give the job one"
            " (docs/clusters.md), or leave `device` out of the config"
        )
    if spec["stack"] == "tensorflow" and not _seen_by_tensorflow():
        raise UserError(
            f"this run asks for a GPU (device: gpu), and TensorFlow cannot use that of {host}"
            f" ({found[0]}): install CUDA's libraries (make GPU=1), or leave `device` out of the"
            " config"
        )


def _seen_by_tensorflow() -> bool:
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))
