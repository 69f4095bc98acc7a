"""python -m shiftbench VERB ...: hands the job to a fork server if there is one.

Decides before anything heavy is imported, and hides GPUs until a job asks for one. Before the
verb, `--stack light` or `--stack tensorflow` says which server has preloaded what the job imports,
and `--instructions native` that the job may use all instructions of the processor, for which there
is no server.
"""

from __future__ import annotations

import os
import signal
import sys

from shiftbench.core import devices, exit_statuses, instructions
from shiftbench.runtime import forkserver_client, parent_death

KNOWN = {"--stack": forkserver_client.STACKS, "--instructions": instructions.KINDS}
"""What may stand before the verb."""


def main(arguments: list[str]) -> int:
    """Run a verb, in a fork server or in this process; return its exit status."""
    options = {"--stack": "", "--instructions": "portable"}
    while arguments and arguments[0] in KNOWN:
        name, value, arguments = arguments[0], "".join(arguments[1:2]), arguments[2:]
        if value not in KNOWN[name]:
            known = " or ".join(KNOWN[name])
            print(f"{name} is followed by {known}, and a verb", file=sys.stderr)
            return exit_statuses.MISTAKE
        options[name] = value
    if options["--stack"]:
        parent_death.die_with_parent(os.getppid())  # a job of a workflow, which is its parent
    devices.choose("cpu")
    if options["--instructions"] == "native":
        instructions.choose("native")
    elif options["--stack"]:
        status = forkserver_client.request(options["--stack"], arguments)
        if status is not None:
            return status
    from shiftbench.cli.main import main as run_verb

    return run_verb(arguments)


def entry() -> None:
    """Run the command `shiftbench`; an interrupt, as by Ctrl-C, ends it with one line."""
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
        print("stopped by SIGINT; the same command goes on from there", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    entry()
