"""Commands about the program itself: its workflow, and help for editors and shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from shiftbench.core import checkout
from shiftbench.core.errors import UserError

SHELLS = ("bash", "zsh", "tcsh")


def snakefile(_: argparse.Namespace) -> None:
    """Print the path of the workflow, as in: snakemake -s "$(shiftbench snakefile)"."""
    print(checkout.SNAKEFILE)


def schema(_: argparse.Namespace) -> None:
    """Print the JSON schema of a config, for editors (config/schema.json)."""
    from shiftbench.config import json_schema

    print(json_schema.text(), end="")


def derive(options: argparse.Namespace) -> None:
    """Derive everything committed that needs no training, in place; with --check, compares."""
    root = Path(".")
    if not (root / "results" / "published").is_dir():
        raise UserError("derive: there is no results/published here; run it in a checkout")

    from shiftbench.publish.derived import derive

    problems = derive.check(root) if options.check else derive.update(root)
    if problems:
        raise UserError("\n".join(problems))


def completion(options: argparse.Namespace) -> None:
    """Print a completion script for a shell, as in: eval "$(shiftbench completion bash)"."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise UserError("completion: shtab is missing; pip install shtab") from None

    for parser in _parsers(options.parser):
        for action in parser._actions:
            if action.type is Path:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(options.parser, options.shell))


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser, and those of its verbs."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()
