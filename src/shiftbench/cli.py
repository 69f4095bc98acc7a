"""The command line: python -m shiftbench VERB ...; what the rules call.

Each verb of a job makes its spec from the config anew and refuses to go on if it is not
the one that was planned. Modules are imported by the verbs that need them.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shiftbench import file_errors
from shiftbench.errors import UserError
from shiftbench.names import refuse_unknown

if TYPE_CHECKING:
    from shiftbench.planning.schema import Config

log = logging.getLogger("shiftbench")

STOPPED = 75
"""Exit status of a job that saved its state and wants to be run again (EX_TEMPFAIL)."""
DEFAULT_CONFIG = Path("config/embedded.yaml")
DEFAULT_RESULTS = Path("results/embedded")
VERIFIED = {"identical": 0, "rounding": 3, "interval": 4, "different": 5}
"""Exit statuses of `verify`."""


def main(arguments: list[str]) -> int:
    """Runs one verb. 0 if all is well, 1 for a defect, 2 for what the user can mend."""
    options = _parser().parse_args(arguments)
    try:
        _open_log(options.log)
        status = options.verb(options) or 0
        sys.stdout.flush()
        return status
    except UserError as error:
        _tell(str(error))
        return 2
    except BrokenPipeError:  # the reader of our output has seen enough
        _drop_output()
        return 0
    except Exception as error:
        if of_file := file_errors.behind(error):
            _tell_file_error(of_file, options)
            return 2
        _tell_unexpected(error, options.log)
        return 1


def check(options: argparse.Namespace) -> None:
    """Checks a config and prints what it plans, and what of that will stay empty."""
    from shiftbench.planning import config, fit

    found = config.load(options.config)
    for name, study in found.studies.items():
        jobs = len(study.streams) * len(study.learners) * len(found.blocks(name))
        print(f"{name}: {study.title}; {jobs} runs, {len(study.artefacts)} artefacts")
    for note in fit.notes(found):
        print(f"Note: {note}")


def list_names(options: argparse.Namespace) -> None:
    """Prints the components of a kind, or the studies of a config, with a line each."""
    from shiftbench.planning import components, config

    if options.kind == "studies" and options.stream is None:
        studies = config.load(options.config).studies
        lines = {name: study.title for name, study in studies.items()}
    else:
        names = components.names(options.kind) if options.stream is None else _fitting(options)
        lines = {name: components.summary(options.kind, name) for name in names}
    width = max(map(len, lines), default=0)
    for name, line in lines.items():
        print(f"{name:{width}}  {line}")


def reference(_: argparse.Namespace) -> None:
    """Prints the reference of all config keys (config/README.md)."""
    from shiftbench.planning import reference

    print(reference.text(), end="")


def fetch(options: argparse.Namespace) -> None:
    """Gets one raw file of a data set."""
    from shiftbench.store import raw

    raw.fetch(options.dataset, options.file, options.output)


def stream(options: argparse.Namespace) -> None:
    """Builds the store of a stream from its raw files."""
    from shiftbench.planning import components, config, specs

    plan = config.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    spec = specs.stream(plan, options.name)
    specs.refuse_other(spec, options.digest)

    from shiftbench.store import raw, seal, zarr_zip

    dataset = spec["settings"].get("dataset")
    raw.refuse_changed(dataset, options.raw)
    module = components.load("streams", spec["family"])
    settings = components.configured("streams", spec["family"], spec["settings"])
    store = module.build(settings, options.raw / (dataset or ""))
    licence = raw.table()[dataset].licence if dataset else ""
    zarr_zip.stamp(store, f"stream {options.name}", spec, licence)
    zarr_zip.write(store, options.output)
    seal.write(options.output)


def stream_words(options: argparse.Namespace) -> None:
    """Chooses the vocabulary of a stream that is counted in shards."""
    from shiftbench.planning import config, specs

    plan = config.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    specs.refuse_other(specs.words(plan, options.name), options.digest)

    from shiftbench.store import raw, seal

    module, settings = _counting(plan, options.name)
    raw.refuse_changed(settings.dataset, options.raw)
    words = module.vocabulary(settings, options.raw / settings.dataset)
    _write_text(options.output, json.dumps(words, indent=0, ensure_ascii=False) + "\n")
    seal.write(options.output)


def stream_part(options: argparse.Namespace) -> None:
    """Counts one shard of a stream."""
    from shiftbench.planning import config, fit, specs

    plan = config.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    specs.refuse_other(specs.part(plan, options.name, options.shard), options.digest)

    from shiftbench.store import raw, scratch, seal, zarr_zip

    module, settings = _counting(plan, options.name)
    raw.refuse_changed(settings.dataset, options.raw)
    seal.refuse_broken(options.words)
    texts, words = options.raw / settings.dataset, _read_json(options.words)
    fit.refuse_absent_words(plan, options.name, words)
    with scratch.beside(options.output, "counts") as folder:
        part = module.count_shard(settings, texts, words, options.shard, folder / "part")
        zarr_zip.write(part, options.output)
    seal.write(options.output)


def stream_merge(options: argparse.Namespace) -> None:
    """Merges the shards of a stream to its store."""
    from shiftbench.planning import config, specs

    plan = config.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    spec = specs.stream(plan, options.name)
    specs.refuse_other(spec, options.digest)

    from shiftbench.store import scratch, seal, zarr_zip

    seal.refuse_broken(options.words, *options.parts)
    module, settings = _counting(plan, options.name)
    words = _read_json(options.words)
    with scratch.beside(options.output, "counts") as folder, ExitStack() as opened:
        parts = [opened.enter_context(zarr_zip.opened(path)) for path in options.parts]
        store = module.merge(settings, words, parts, folder)
        zarr_zip.stamp(store, f"stream {options.name}", spec)
        zarr_zip.write(store, options.output)
    seal.write(options.output)


def run(options: argparse.Namespace) -> int:
    """Runs a variant on a stream for a block of seeds; goes on from a saved state."""
    from shiftbench.planning import config, fit, specs

    plan = config.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    study = plan.studies[options.study]
    refuse_unknown("stream", options.stream, study.streams)
    refuse_unknown("learner", options.variant, study.learners)
    spec = specs.run(plan, options.study, options.stream, options.variant, options.seeds)
    specs.refuse_other(spec, options.digest)
    _refuse_other_instructions(spec["instructions"])

    from shiftbench.store import seal

    seal.refuse_broken(options.store, *options.choice)
    for path in options.choice:
        spec = specs.with_choice(spec, _read_json(path)["settings"])

    from threadpoolctl import threadpool_limits

    from shiftbench.evaluation import harness
    from shiftbench.store import checkpoint, zarr_zip

    store = zarr_zip.read_any(options.store)
    if "word" in store.coords:
        words = store.coords["word"].values
        fit.refuse_absent_words(plan, options.stream, words, options.study)
    scratch = options.scratch / spec["digest"]
    try:
        with threadpool_limits(options.threads):
            result, cost = harness.run_job(spec, store, scratch, options.minutes, options.threads)
        _write_text(options.cost, json.dumps(cost, indent=1, sort_keys=True) + "\n")
        zarr_zip.write(result, options.output)
        seal.write(options.output)
        checkpoint.remove(scratch)
    except harness.Stopped as reason:
        log.warning("%s: stopped, %s; start it again to go on", options.output, reason)
        return STOPPED
    return 0


def choose(options: argparse.Namespace) -> None:
    """Chooses the best of a learner's trials on a stream."""
    from shiftbench.planning import config, specs

    plan = config.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    study = plan.studies[options.study]
    refuse_unknown("stream", options.stream, study.streams)
    refuse_unknown("tuned learner", options.learner, study.tuning.learners if study.tuning else [])
    spec = specs.choice(plan, options.study, options.stream, options.learner)
    specs.refuse_other(spec, options.digest)

    from shiftbench.evaluation import choice
    from shiftbench.store import seal, zarr_zip

    seal.refuse_broken(options.scores)
    found = choice.best(spec, zarr_zip.read_tree(options.scores))
    _write_text(options.output, json.dumps(found, indent=1, sort_keys=True) + "\n")
    seal.write(options.output)


def summarise(options: argparse.Namespace) -> None:
    """Joins the runs of a study to its scores and its summary."""
    from shiftbench.planning import config, specs

    plan = config.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    spec = specs.scores(plan, options.study)
    specs.refuse_other(spec, options.digest)

    from threadpoolctl import threadpool_limits

    from shiftbench.evaluation import summarise
    from shiftbench.store import seal, zarr_zip

    seal.refuse_broken(*options.streams, *options.runs)
    streams = {path.name.removesuffix(".zarr.zip"): path for path in options.streams}
    stores = {name: zarr_zip.read_any(path) for name, path in streams.items()}
    # The matrices of the regret are small: a second thread costs more than it brings.
    with threadpool_limits(1):
        runs = [zarr_zip.read(path) for path in options.runs]
        scores, summary = summarise.summarise(spec, stores, runs)
    _write_text(options.summary, summary.to_csv(index=False, lineterminator="\n"))
    zarr_zip.write(scores, options.scores)
    seal.write(options.summary, options.scores)


def artefact(options: argparse.Namespace) -> None:
    """Makes one figure (OUTPUT.svg and .png) or table (OUTPUT.csv and .md)."""
    from shiftbench.planning import components, config, specs

    plan = config.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    refuse_unknown("artefact", options.name, plan.studies[options.study].artefacts)
    spec = specs.artefact(plan, options.study, options.name)
    specs.refuse_other(spec, options.digest)

    from shiftbench.artefacts import _style, _tables
    from shiftbench.evaluation import results
    from shiftbench.store import seal

    seal.refuse_broken(options.scores, options.summary, *options.streams)
    study = results.load(spec, options.scores, options.summary, options.streams)
    module = components.load("artefacts", options.name)
    if _is_figure(options.name):
        _style.save(module.draw(study), options.output)
        kinds = ("png", "svg")
    else:
        _tables.save(module.tabulate(study), options.output, module.caption(study))
        kinds = ("md", "csv")
    made = [options.output.with_name(f"{options.output.name}.{kind}") for kind in kinds]
    seal.write(*made)
    artefacts = plan.studies[options.study].artefacts
    # One a study, to look at while other studies are still running.
    if options.name == next(filter(_is_figure, artefacts), artefacts[0]):
        print(f"{options.study}: {made[0]}")


def words(options: argparse.Namespace) -> None:
    """Prints when words change in a study's run, and their neighbours before and after."""
    from shiftbench.artefacts import _words
    from shiftbench.evaluation import results
    from shiftbench.planning import config, specs

    plan = config.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    folder = options.results or Path("results") / options.config.stem
    of_study = folder / "studies" / options.study
    study = results.load(
        specs.scores(plan, options.study) | {"title": ""},
        of_study / "scores.zarr.zip",
        of_study / "summary.csv",
        [folder / "streams" / f"{name}.zarr.zip" for name in plan.studies[options.study].streams],
    )
    print(_words.histories(study, options.words, options.learner, options.seed))


def publish(options: argparse.Namespace) -> None:
    """Copies summaries, figures and tables to where they are committed."""
    from shiftbench.publishing import publish

    target = options.to or options.results.parent / "published" / options.results.name
    for name, done in publish.publish(options.results, target).items():
        print(f"{name}: {done}")


def verify(options: argparse.Namespace) -> int:
    """Compares results with the published ones; 0 if identical, else 3 to 5 by the worst.

    3: same within rounding; 4: within the interval over seeds; 5: different.
    """
    from shiftbench.publishing import verify

    reference = options.reference or options.results.parent / "published" / options.results.name
    with ExitStack() as opened:
        if options.revision:
            reference = opened.enter_context(verify.at_revision(reference, options.revision))
        findings = verify.compare(options.results, reference)
        lines = verify.lines(findings, options.results, reference)
    print(*lines, sep="\n")
    if options.table:
        print("", verify.table(findings) or "Nothing differs.", sep="\n")
    return VERIFIED[verify.worst(findings)]


def warm(options: argparse.Namespace) -> int:
    """Runs a command with warm servers (see warm.py)."""
    from shiftbench import warm

    command = options.command[options.command[:1] == ["--"] :]
    if not command:
        raise UserError("warm: name a command to run, as in `warm -- snakemake`")
    if not shutil.which(command[0]):
        raise UserError(f"warm: there is no command {command[0]} that can be run; check its name")
    return warm.run(command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shiftbench",
        description="Benchmarks of Bayesian learning under distribution shift.",
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add(verbs, "check", check, ("config",))
    listing = _add(verbs, "list", list_names)
    listing.add_argument("kind", choices=[*_kinds(), "studies"])
    listing.add_argument("--for", dest="stream", help="only what fits this stream of the config")
    listing.add_argument("--config", type=Path, default=DEFAULT_CONFIG)
    _add(verbs, "reference", reference)
    _add(verbs, "fetch", fetch, ("dataset", "file"), paths=("output",))
    _add_job(verbs, "stream", stream, ("name",), ("raw", "output"))
    _add_job(verbs, "stream-words", stream_words, ("name",), ("raw", "output"))
    counting = _add_job(verbs, "stream-part", stream_part, ("name",), ("raw", "words", "output"))
    counting.add_argument("--shard", type=int, required=True, help="number of the shard, from 0")
    merging = _add_job(verbs, "stream-merge", stream_merge, ("name",), ("words", "output"))
    merging.add_argument("--parts", type=Path, nargs="+", required=True)
    running = _add_job(
        verbs, "run", run, ("study", "stream", "variant"), ("store", "output", "cost", "scratch")
    )
    running.add_argument("--seeds", type=_block, required=True, help="first-last, as in 0-9")
    running.add_argument("--choice", type=Path, nargs="*", default=[], help="of a tuned learner")
    running.add_argument("--minutes", type=float, default=60.0)
    running.add_argument("--threads", type=int, default=1)
    _add_job(verbs, "choose", choose, ("study", "stream", "learner"), ("scores", "output"))
    joining = _add_job(verbs, "summarise", summarise, ("study",), ("scores", "summary"))
    joining.add_argument("--runs", type=Path, nargs="+", required=True)
    joining.add_argument("--streams", type=Path, nargs="+", required=True)
    drawing = _add_job(
        verbs, "artefact", artefact, ("study", "name"), ("scores", "summary", "output")
    )
    drawing.add_argument("--streams", type=Path, nargs="+", required=True)
    looking = _add(verbs, "words", words)
    looking.add_argument("words", nargs="+", metavar="word")
    looking.add_argument("--study", required=True)
    looking.add_argument("--learner", help="the first that decides about changes, if not given")
    looking.add_argument("--seed", type=int, default=0)
    looking.add_argument("--config", type=Path, default=DEFAULT_CONFIG)
    looking.add_argument("--results", type=Path, help="folder, if not results/CONFIG")
    publishing = _add(verbs, "publish", publish)
    publishing.add_argument("results", type=Path, nargs="?", default=DEFAULT_RESULTS)
    publishing.add_argument("--to", type=Path, help="folder, if not results/published/CONFIG")
    verifying = _add(verbs, "verify", verify)
    verifying.add_argument("results", type=Path, nargs="?", default=DEFAULT_RESULTS)
    verifying.add_argument(
        "reference", type=Path, nargs="?", help="another folder, if not results/published/CONFIG"
    )
    verifying.add_argument("--revision", help="the reference as committed in a git revision")
    verifying.add_argument("--table", action="store_true", help="show all that is not identical")
    _add(verbs, "warm", warm).add_argument("command", nargs=argparse.REMAINDER)
    return parser


def _add(
    verbs: argparse._SubParsersAction,
    name: str,
    function: Callable[[argparse.Namespace], int | None],
    positional: tuple[str, ...] = (),
    paths: tuple[str, ...] = (),
) -> argparse.ArgumentParser:
    """A verb, with positional arguments and required options that are paths."""
    parser = verbs.add_parser(name, help=function.__doc__, description=function.__doc__)
    parser.set_defaults(verb=function, log=None)
    for argument in positional:
        parser.add_argument(argument)
    for option in paths:
        parser.add_argument(f"--{option}", type=Path, required=True)
    if paths:
        parser.add_argument("--log", type=Path, help="file for the progress and the details")
    return parser


def _add_job(
    verbs: argparse._SubParsersAction,
    name: str,
    function: Callable[[argparse.Namespace], int | None],
    positional: tuple[str, ...],
    paths: tuple[str, ...],
) -> argparse.ArgumentParser:
    """A verb whose job is planned from a config."""
    parser = _add(verbs, name, function, positional, paths)
    parser.add_argument("--config", type=Path, default=DEFAULT_CONFIG)
    parser.add_argument("--digest", help="digest of the spec that the job was planned with")
    return parser


def _fitting(options: argparse.Namespace) -> list[str]:
    """The components of a kind that fit a stream of a config."""
    from shiftbench.planning import config, fit

    if options.kind in ("studies", "streams"):
        raise UserError(f"list {options.kind}: --for is for what can be used on a stream")
    plan = config.load(options.config)
    refuse_unknown("stream", options.stream, plan.streams)
    given = fit.given(options.stream, plan.streams[options.stream])
    assert given is not None  # the config was checked
    return fit.fitting(options.kind, given)


def _counting(plan: Config, name: str) -> tuple[ModuleType, Any]:
    """Module and settings of a stream that is counted in shards."""
    from shiftbench.planning import components

    source = plan.streams[name]
    if "shards" not in source.settings:
        raise UserError(f"stream {name} is not counted in shards; use the verb stream")
    settings = components.configured("streams", source.family, source.settings)
    return components.load("streams", source.family), settings


def _refuse_other_instructions(planned: str) -> None:
    """UserError where a run would not compute as its spec says; a warning where it cannot."""
    from shiftbench import _instructions

    if planned == _instructions.in_force():
        return
    if planned == "portable" and not _instructions.available():
        log.warning("this processor has no AVX2: results agree with those of others to rounding")
        return
    raise UserError(
        f"this run is planned with {planned} instructions, but the process has"
        f" {_instructions.in_force()} ones; start it as python -m shiftbench"
        f" --instructions {planned} run ..."
    )


def _is_figure(artefact: str) -> bool:
    from shiftbench.planning import components

    return components.constant("artefacts", artefact, "KIND") == "figure"


def _kinds() -> list[str]:
    from shiftbench.planning import components

    return list(components.FOLDERS)


def _block(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last)


def _open_log(path: Path | None) -> None:
    """Messages go to the log, if there is one; warnings go to standard error as well."""
    log.setLevel(logging.INFO)
    log.handlers.clear()
    screen = logging.StreamHandler(sys.stderr)
    screen.setLevel(logging.WARNING)
    log.addHandler(screen)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _LogFile(path, mode="a", encoding="utf-8")
        file.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        log.addHandler(file)
        faulthandler.enable(path.open("a"))  # a crash of compiled code leaves its stack


class _LogFile(logging.FileHandler):
    """A log that cannot be written ends the verb, with an error that names the log."""

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exception()
        if isinstance(error, OSError):
            error.filename = self.baseFilename
            raise error
        super().handleError(record)


def _tell(message: str, level: int = logging.ERROR) -> None:
    """A message for the screen and the log, of which the log may be what is broken."""
    with suppress(OSError):
        log.log(level, "%s", message)


def _tell_unexpected(error: Exception, path: Path | None) -> None:
    details = traceback.format_exc()
    _tell(details, logging.INFO)
    if not path or os.environ.get("SHIFTBENCH_DEBUG"):
        print(details, file=sys.stderr)
    where = f"; details in {path}" if path else ""
    _tell(f"unexpected error: {type(error).__name__}: {error}{where}")


def _tell_file_error(error: OSError, options: argparse.Namespace) -> None:
    known = vars(options)
    output = known.get("output") or known.get("scores")
    if os.environ.get("SHIFTBENCH_DEBUG"):
        print(traceback.format_exc(), file=sys.stderr)
    _tell(file_errors.told(error, output or "standard output"))
    if not (error.filename or output):
        _drop_output()


def _drop_output() -> None:
    """Nothing more is written to standard output, not at the end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(
            f"{path}: no JSON ({error}). Delete the file and start the workflow again."
        ) from None


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    try:
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
