"""The folder of XLA's compiled code, which the jobs of a fork server share.

XLA compiles each cluster of operations for a tenth of a second or more, and jobs of one study
need the same ones. TensorFlow names the file of a cluster after a digest of its operations and
shapes, compares these when it reads a file, and renames what it has written, so that jobs can
read and write at the same time. The folder is as old as its server: the same versions and the
same processor wrote all of it. Compiled code may depend on the number of threads.
"""

from __future__ import annotations

import os

VARIABLE = "SHIFTBENCH_CLUSTERS"
"""Environment variable: the folder; unset where there is none."""
FLAGS = "TF_XLA_FLAGS"


def use(threads: int) -> None:
    """Let TensorFlow read and write the folder, if there is one; call it before any operation."""
    if folder := os.environ.get(VARIABLE):
        keep = f"--tf_xla_persistent_cache_directory='{folder}/threads-{threads}'"
        of_cpu = "--tf_xla_persistent_cache_device_types=CPU"
        os.environ[FLAGS] = " ".join([os.environ.get(FLAGS, ""), keep, of_cpu])
