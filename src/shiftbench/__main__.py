"""python -m shiftbench VERB ...: hands the job to a warm server if there is one.

Decides before anything heavy is imported. `--stack light` or `--stack tensorflow` before
the verb says which server has preloaded what the job imports.
"""

from __future__ import annotations

import sys

from shiftbench import warm


def main(arguments: list[str]) -> int:
    """Runs a verb, in a warm server or here; the exit status."""
    stack = None
    if arguments[:1] == ["--stack"]:
        stack, arguments = arguments[1], arguments[2:]
    status = warm.request(stack, arguments) if stack else None
    if status is not None:
        return status
    from shiftbench import cli

    return cli.main(arguments)


def entry() -> None:
    """The command `shiftbench`."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    entry()
