"""Snakemake, as `run` starts it: an interrupt before the first job ends it without a traceback.

Start it as `python -m shiftbench.runtime.snakemake_process`, with Snakemake's arguments.
"""

from __future__ import annotations

import logging
import signal
import sys
from typing import NoReturn


def interrupt(_number: int, _frame: object) -> NoReturn:
    """Raise KeyboardInterrupt, as Python does, and let no error that follows from it be shown."""
    # Snakemake sets a handler of SIGTERM as soon as it starts jobs; from then on it expects us.
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        logging.disable()  # Snakemake would blame the function that was interrupted
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    sys.argv[0] = "snakemake"  # its name in its messages
    try:
        from snakemake.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
