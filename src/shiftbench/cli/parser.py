"""The verbs with their options, as the help groups them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiftbench import __version__
from shiftbench.cli import (
    check,
    cluster,
    jobs,
    lookup,
    meta,
    plan,
    quickstart,
    results,
    run,
    verifying,
)
from shiftbench.core import checkout
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import unknown

HERE = Path("config/embedded.yaml")
DEFAULT_CONFIG = HERE if HERE.is_file() else checkout.EMBEDDED
DEFAULT_RESULTS = Path("results/embedded")
GROUPS = {
    "Run": {
        "quickstart": "write a small project with data to try shiftbench with",
        "run": "compute the results of a config and make their pages",
        "check": "check a config, and list the studies in it",
        "plan": "list what would run, why, and how long it would take",
        "cluster": "run a config on a Slurm cluster",
    },
    "Look up": {
        "list": "list methods, studies, streams, metrics and other components",
        "show": "show a method with its settings, or what a study compares",
    },
    "Your own components": {
        "test": "test a folder of components against the contract that ours keep",
    },
    "Use results": {
        "site": "make pages of results, which open without a server",
        "words": "show when words change their meaning, and their neighbours",
        "verify": "compare results with the published ones, or check a crate",
        "publish": "copy results to results/published, or upload them",
        "crate": "pack results with their code, data and provenance",
    },
    "The program": {
        "completion": "print a script that completes commands in your shell",
        "snakefile": "print the path of the workflow, for `snakemake --snakefile`",
    },
}
"""The verbs that people type, as the help groups them."""


class _Help(argparse.HelpFormatter):
    """Lists the verbs in their groups, and names the others in a last line."""

    def _format_action(self, action: argparse.Action) -> str:
        if not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        lines = []
        for title, verbs in GROUPS.items():
            lines += [f"\n{title}:", *(f"  {verb:11} {text}" for verb, text in verbs.items())]
        shown = {verb for verbs in GROUPS.values() for verb in verbs}
        others = [one.dest for one in action._choices_actions if one.dest not in shown]
        return "\n".join([*lines, "", f"For developers: {', '.join(others)}", ""])


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Return the options; what follows "--" after `run` is for snakemake.

    UserError for an unknown verb, and for more than a config after `run`.
    """
    parser, verbs = make()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in verbs.choices:
        listed = [verb for group in GROUPS.values() for verb in group]
        raise UserError(f"{unknown('verb', arguments[0], listed)}; `shiftbench --help` explains")
    if arguments[:1] != ["run"]:
        return parser.parse_args(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, unexpected = parser.parse_known_args(arguments[:end])
    if unexpected:
        raise UserError(run.MISUSED.format(unexpected[0]))
    options.snakemake = arguments[end + 1 :]
    return options


def make() -> tuple[argparse.ArgumentParser, argparse._SubParsersAction]:
    """Return the parser, and its verbs."""
    parser = argparse.ArgumentParser(
        prog="shiftbench",
        usage="shiftbench VERB ...",
        description="Benchmarks of Bayesian learning under distribution shift.",
        epilog="`shiftbench VERB --help` explains a verb.",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"shiftbench {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB", title="verbs")
    _add_planning(verbs)
    _add_results(verbs)
    _add_site(verbs)
    _add_verify(verbs)
    _add_program(verbs, parser)
    _add_jobs(verbs)
    return parser, verbs


def _add_planning(verbs: argparse._SubParsersAction) -> None:
    """Add the commands for running configs, and looking at configs, methods and components."""
    starting = _add(verbs, "quickstart", quickstart.quickstart)
    folder = "folder to make (default: quickstart)"
    starting.add_argument("folder", type=Path, nargs="?", default=Path("quickstart"), help=folder)
    running = _add(verbs, "run", run.run)
    running.usage = "shiftbench run [CONFIG] [--deep] [-- OPTIONS OR TARGETS OF SNAKEMAKE]"
    running.add_argument("config", **_CONFIG)
    _add_deep(running)
    checking = _add(verbs, "check", check.check)
    checking.add_argument("config", **_CONFIG)
    listing = _add(verbs, "list", lookup.list_names)
    listing.add_argument("kind", choices=["methods", *_kinds(), "studies", "claims"])
    listing.add_argument("--for", dest="stream", help="only what fits this stream of the config")
    listing.add_argument("--config", type=_file, default=DEFAULT_CONFIG)
    showing = _add(verbs, "show", lookup.show, ("name",))
    showing.add_argument("--study", help="the method as this study of the config has it")
    showing.add_argument("--config", type=_file, default=DEFAULT_CONFIG)
    planning = _add(verbs, "plan", plan.plan)
    planning.add_argument("config", **_CONFIG)
    planning.add_argument(
        "--why",
        metavar="STUDY/METHOD",
        help="list each job of a study or method, why it would run, and its cost",
    )
    planning.add_argument("--budget", help="compare with what another budget would cost")
    planning.add_argument(
        "--cores", type=_cores, help="cores to plan for (default: all of this machine)"
    )
    planning.add_argument("--json", action="store_true", help="for programs")
    _add_deep(planning)
    trying = _add(verbs, "test", check.test)
    trying.add_argument("folder", type=Path, help="as `components` in a config names it")
    limit = "time limit for each check of a component (default: 120)"
    trying.add_argument("--limit", type=_seconds, default=120, metavar="SECONDS", help=limit)


def _add_jobs(verbs: argparse._SubParsersAction) -> None:
    """Add the verbs that rules call; the help does not list them."""
    fetching = _add(verbs, "fetch", jobs.fetch, ("dataset", "file"), listed=False)
    fetching.add_argument("--output", type=Path, required=True)
    fetching.add_argument("--log", type=Path, help="file for the progress and the details")
    jobs.add_options(_add(verbs, jobs.VERB, jobs.job, listed=False))
    deriving = _add(verbs, "derive", meta.derive, listed=False)
    deriving.add_argument(
        "--check", action="store_true", help="list what is out of date, and change nothing"
    )


def _add_results(verbs: argparse._SubParsersAction) -> None:
    """Add the commands for looking at results, packing and publishing them."""
    looking = _add(verbs, "words", results.words)
    looking.add_argument("words", nargs="+", metavar="word")
    looking.add_argument("--study", required=True)
    looking.add_argument("--method", help="default: the first that detects changes")
    looking.add_argument("--seed", type=int, default=0)
    looking.add_argument("--config", type=_file, default=DEFAULT_CONFIG)
    looking.add_argument("--results", type=Path, help="folder, if not results/CONFIG")
    packing = _add(verbs, "crate", results.crate)
    packing.add_argument("results", **_RESULTS)
    packing.add_argument(
        "--to", type=_folder, required=True, help="folder, new or an earlier crate"
    )
    _add_config(packing)
    publishing = _add(verbs, "publish", results.publish)
    publishing.add_argument("results", **_RESULTS)
    publishing.add_argument(
        "--to", help="folder, if not results/published/CONFIG; s3://BUCKET/PREFIX; or zenodo:"
    )
    publishing.add_argument(
        "--dry-run", action="store_true", help="print what would be done, and change nothing"
    )
    publishing.add_argument(
        "--source-data",
        action="store_true",
        help="also publish the arrays that figures are drawn from, up to 20 MB a study",
    )
    _add_config(publishing)


def _add_site(verbs: argparse._SubParsersAction) -> None:
    """Add the command for making pages of results."""
    showing = _add(verbs, "site", results.site)
    showing.add_argument(
        "results",
        type=_folder,
        nargs="?",
        default=Path("results/published"),
        help="folder of one config, or of several (default: results/published)",
    )
    showing.add_argument("--to", type=_folder, default=Path("site"), help="folder, if not site")
    showing.add_argument(
        "--config",
        type=_file,
        nargs="+",
        action="extend",
        default=[],
        help="files of configs that are not in config/",
    )
    showing.add_argument(
        "--with",
        dest="crates",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="CRATE",
        help="crates of others, checked and compared with ours in a leaderboard",
    )
    _add_trust(showing)
    _add_sample(showing, "runs of each of their methods to compute again", type=int, default=1)


def _add_verify(verbs: argparse._SubParsersAction) -> None:
    """Add the command for comparing results with published ones, or checking a crate."""
    checking = _add(verbs, "verify", verifying.verify)
    checking.add_argument("results", **_RESULTS)
    checking.add_argument(
        "reference", type=_folder, nargs="?", help="another folder, if not results/published/CONFIG"
    )
    checking.add_argument("--revision", help="the reference as committed in a git revision")
    text = (
        "runs to compute again: a number in all (default: 3), a share of the runs of each study,"
        f" such as 10%%, or {verifying.EACH_METHOD}; at least one per study"
    )
    _add_sample(checking, text, type=verifying.sample, default="3")
    _add_trust(checking)
    checking.add_argument("--table", action="store_true", help="show all that is not identical")
    checking.add_argument(
        "--study",
        nargs="+",
        action="extend",
        help="of published results, recompute runs of these studies only",
    )
    checking.add_argument(
        "--record", action="store_true", help="write what was found into their provenance"
    )
    _add_config(checking)


def _add_deep(parser: argparse.ArgumentParser) -> None:
    text = "read all results to find damaged ones, and not only those with a new size or time"
    parser.add_argument("--deep", action="store_true", help=text)


def _add_config(parser: argparse.ArgumentParser) -> None:
    text = "file, if not config/NAME.yaml of results/NAME"
    parser.add_argument("--config", type=Path, help=text)


def _add_sample(parser: argparse.ArgumentParser, text: str, **of_sample: Any) -> None:
    parser.add_argument("--sample", help=text, **of_sample)
    parser.add_argument("--seed", type=int, help="seed for drawing these runs (default: a new one)")
    factor = "factor for the limits on size and time of what is computed again"
    parser.add_argument("--limit", type=float, default=1.0, metavar="FACTOR", help=factor)


def _add_trust(parser: argparse.ArgumentParser) -> None:
    text = "run the code of components that came with a crate"
    parser.add_argument("--trust", action="store_true", help=text)


def _add_program(verbs: argparse._SubParsersAction, parser: argparse.ArgumentParser) -> None:
    """About the program itself."""
    _add(verbs, "snakefile", meta.snakefile)
    _add(verbs, "schema", meta.schema)
    completing = _add(verbs, "completion", meta.completion)
    completing.add_argument("shell", choices=meta.SHELLS)
    completing.set_defaults(parser=parser)
    submitting = _add(verbs, "cluster", cluster.cluster)
    submitting.add_argument("config", **_CONFIG)
    _add_deep(submitting)
    submitting.add_argument("--profile", type=Path, default=cluster.PROFILE, help="folder")
    more = "more options for snakemake, in one string: --snakemake='--jobs 20'"
    submitting.add_argument("--snakemake", type=shlex.split, default=[], help=more)
    _add(verbs, "warm", run.warm).add_argument("command", nargs=argparse.REMAINDER)


def _add(
    verbs: argparse._SubParsersAction,
    name: str,
    function: Callable[[argparse.Namespace], int | None],
    positional: tuple[str, ...] = (),
    listed: bool = True,
) -> argparse.ArgumentParser:
    """Add a verb with positional arguments, which the help lists or not."""
    text = function.__doc__ or ""
    help_text: dict[str, Any] = {"help": text.partition("\n")[0]} if listed else {}
    parser = verbs.add_parser(name, description=text, prog=f"shiftbench {name}", **help_text)
    parser.set_defaults(verb=function, log=None)
    for argument in positional:
        parser.add_argument(argument)
    return parser


def _folder(text: str) -> Path:
    """Return the path of a folder; absolute for `.` and `..`, whose names say nothing."""
    path = Path(text)
    return path.resolve() if path.name in ("", "..") else path


_CONFIG: dict[str, Any] = {
    "type": Path, "nargs": "?", "default": DEFAULT_CONFIG,
    "help": "file of a config (default: config/embedded.yaml)",
}  # fmt: skip
_RESULTS: dict[str, Any] = {
    "type": _folder, "nargs": "?", "default": DEFAULT_RESULTS,
    "help": "folder of results (default: results/embedded)",
}  # fmt: skip


def _file(text: str) -> Path:
    """Return the path of a file. UserError if it does not exist."""
    if not Path(text).is_file():
        raise UserError(f"{text}: there is no such file; check its path")
    return Path(text)


def _whole(option: str, unit: str) -> Callable[[str], int]:
    """Return a parser of a whole number from 1 to 999,999; it raises UserError for others."""

    def parsed(text: str) -> int:
        if not text.isdecimal() or len(text) > 6 or int(text) < 1:
            raise UserError(f"{option} {text:.40}: write a number of {unit}, from 1 to 999,999")
        return int(text)

    return parsed


_cores, _seconds = _whole("--cores", "cores"), _whole("--limit", "seconds")


def _kinds() -> list[str]:
    from shiftbench.config import components

    return list(components.FOLDERS)
