"""The verbs that the rules call, one a job.

Each makes its spec from the config anew and refuses to go on if it is not the one that was
planned. Inputs that were changed since a job made them are refused, and what a job makes is
sealed. Modules are imported by the verbs that need them.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shiftbench.cli import device_choice, requeue
from shiftbench.core import atomic_files, devices
from shiftbench.core.errors import UserError
from shiftbench.core.suggestions import refuse_unknown
from shiftbench.data.store import checksum

if TYPE_CHECKING:
    from shiftbench.config.schema import Config

log = logging.getLogger("shiftbench")

Verb = Callable[[argparse.Namespace], int | None]


def sealed(reads: tuple[str, ...] = (), makes: tuple[str, ...] = ()) -> Callable[[Verb], Verb]:
    """A verb whose options name the files that it reads, unless broken, and those it makes."""

    def decorated(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def checked(options: argparse.Namespace) -> int | None:
            checksum.refuse_broken(*_paths(options, reads))
            if status := verb(options):
                return status
            checksum.write(*_paths(options, makes))
            return 0

        return checked

    return decorated


def stem_of(files: Sequence[Path], kinds: Sequence[str]) -> Path:
    """STEM of the files STEM.KIND of a figure or table. UserError where they are others."""
    stem = files[0].with_suffix("")
    wanted = [stem.with_name(f"{stem.name}.{kind}") for kind in kinds]
    if sorted(files) != sorted(wanted):
        raise UserError(f"--output: name the files that are made: {' '.join(map(str, wanted))}")
    return stem


def fetch(options: argparse.Namespace) -> None:
    """Gets one raw file of a data set."""
    from shiftbench.data.store import raw

    raw.fetch(options.dataset, options.file, options.output)


@sealed(makes=("output",))
def stream(options: argparse.Namespace) -> None:
    """Builds the store of a stream from its raw files."""
    from shiftbench.config import components, config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    spec = specs.stream(plan, options.name)
    specs.refuse_other(spec, options.digest)

    from shiftbench.data.store import raw, zarr_zip

    module = components.load("streams", spec["family"])
    # Not the spec's settings, which have of the user's files no more than their names.
    settings = components.configured("streams", spec["family"], plan.streams[options.name].settings)
    store = module.build(settings, _source(plan, options))
    dataset = spec["settings"].get("dataset")
    licence = raw.table()[dataset].licence if dataset else spec["settings"].get("licence", "")
    zarr_zip.stamp(store, store.attrs["title"], spec, licence)
    zarr_zip.write(store, options.output)


@sealed(makes=("output",))
def stream_words(options: argparse.Namespace) -> None:
    """Chooses the vocabulary of a stream that is counted in shards."""
    from shiftbench.config import config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    specs.refuse_other(specs.words(plan, options.name), options.digest)

    module, settings = _counting(plan, options.name)
    words = module.vocabulary(settings, _source(plan, options))
    atomic_files.write(options.output, json.dumps(words, indent=0, ensure_ascii=False) + "\n")


@sealed(reads=("words",), makes=("output",))
def stream_part(options: argparse.Namespace) -> None:
    """Counts one shard of a stream."""
    from shiftbench.config import compatibility, config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    specs.refuse_other(specs.part(plan, options.name, options.shard), options.digest)

    from shiftbench.data.store import scratch, zarr_zip

    module, settings = _counting(plan, options.name)
    texts, words = _source(plan, options), atomic_files.read_json(options.words)
    compatibility.refuse_absent_words(plan, options.name, words)
    with scratch.beside(options.output, "counts") as folder:
        part = module.count_shard(settings, texts, words, options.shard, folder / "part")
        zarr_zip.write(part, options.output)


@sealed(reads=("words", "parts"), makes=("output",))
def stream_merge(options: argparse.Namespace) -> None:
    """Merges the shards of a stream to its store."""
    from shiftbench.config import config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("stream", options.name, plan.streams)
    spec = specs.stream(plan, options.name)
    specs.refuse_other(spec, options.digest)

    from shiftbench.data.store import scratch, zarr_zip

    module, settings = _counting(plan, options.name)
    words = atomic_files.read_json(options.words)
    with scratch.beside(options.output, "counts") as folder, ExitStack() as opened:
        parts = [opened.enter_context(zarr_zip.opened(path)) for path in options.parts]
        store = module.merge(settings, words, parts, folder)
        zarr_zip.stamp(store, store.attrs["title"], spec)
        zarr_zip.write(store, options.output)


@sealed(reads=("store", "choice", "warm_up"))
def train(options: argparse.Namespace) -> int:
    """Runs a variant on a stream for a block of seeds; goes on from a saved state."""
    from shiftbench.config import config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    study = plan.studies[options.study]
    refuse_unknown("stream", options.stream, study.streams)
    refuse_unknown("learner", options.variant, study.pipelines)
    spec = specs.run(plan, options.study, options.stream, options.variant, options.seeds)
    specs.refuse_other(spec, options.digest)
    refuse_other_instructions(spec["instructions"])
    device_choice.take(spec)
    for path in options.choice:
        spec = specs.with_choice(spec, atomic_files.read_json(path)["settings"])

    from shiftbench.data.store import checkpoint, completed_outputs
    from shiftbench.runtime import scratch_lock

    scratch = options.scratch / spec["digest"]
    made = options.output, options.cost
    with scratch_lock.owned(scratch):
        if completed_outputs.restore(spec["digest"], *made):
            log.info("%s: an earlier attempt has finished it", options.output)
        elif status := _learn(options, plan, spec, scratch):
            return status
        else:
            completed_outputs.keep(spec["digest"], *made)
        checkpoint.remove(scratch)
    return 0


def _learn(options: argparse.Namespace, plan: Config, spec: dict[str, Any], scratch: Path) -> int:
    """Makes the store and the cost of a run, from its checkpoint if there is one."""
    from threadpoolctl import threadpool_limits

    from shiftbench.config import compatibility
    from shiftbench.data.store import zarr_zip
    from shiftbench.evaluation.running import harness, warm_up
    from shiftbench.runtime import slurm

    store, warmed = zarr_zip.read_any(options.store), None
    if "word" in store.coords:
        words = store.coords["word"].values
        compatibility.refuse_absent_words(plan, options.stream, words, options.study)
    for path in options.warm_up:
        warmed = warm_up.read(zarr_zip.read_tree(path), spec, str(path))
    left = slurm.minutes_left()
    limits = options.minutes if left is None else max(left, 0.0), options.threads
    started = now()
    try:
        with threadpool_limits(options.threads):
            result, cost = harness.run_job(spec, store, scratch, *limits, warmed)
        write_cost(options.cost, cost, started)
        zarr_zip.write(result, options.output)
        checksum.write(options.output)  # as long as a kill would not cost the run
        requeue.ignore()
    except harness.Stopped as reason:
        return requeue.end(options.output, scratch, str(reason))
    return 0


@sealed(reads=("scores",), makes=("output",))
def choose(options: argparse.Namespace) -> None:
    """Chooses the best of a learner's trials on a stream."""
    from shiftbench.config import config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    study = plan.studies[options.study]
    refuse_unknown("stream", options.stream, study.streams)
    refuse_unknown("tuned method", options.learner, study.methods if study.tuning else [])
    spec = specs.choice(plan, options.study, options.stream, options.learner)
    specs.refuse_other(spec, options.digest)

    from shiftbench.data.store import zarr_zip
    from shiftbench.evaluation.scoring import tuning_choice

    found = tuning_choice.best(spec, zarr_zip.read_tree(options.scores))
    atomic_files.write(options.output, json.dumps(found, indent=1, sort_keys=True) + "\n")


@sealed(reads=("streams", "runs"), makes=("summary", "tidy", "scores"))
def summarise(options: argparse.Namespace) -> None:
    """Joins the runs of a study to its scores, as a cube and as a table, and its summary."""
    from shiftbench.config import config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    spec = specs.scores(plan, options.study)
    specs.refuse_other(spec, options.digest)

    from threadpoolctl import threadpool_limits

    from shiftbench.data.store import completed_outputs, zarr_zip
    from shiftbench.evaluation.scoring import summarise, tidy

    streams = {path.name.removesuffix(".zarr.zip"): path for path in options.streams}
    stores = {name: zarr_zip.read_any(path) for name, path in streams.items()}
    # The matrices of the regret are small: a second thread costs more than it brings.
    with threadpool_limits(1):
        runs = [zarr_zip.read(path) for path in options.runs]
        scores, summary = summarise.summarise(spec, stores, runs)
    for path, table in ((options.summary, summary), (options.tidy, tidy.tidy(spec, scores))):
        atomic_files.write(path, table.to_csv(index=False, lineterminator="\n"))
    zarr_zip.stamp(scores, f"scores of {options.study}", spec)
    zarr_zip.write(scores, options.scores)
    completed_outputs.drop(options.runs)


@sealed(reads=("scores", "summary", "streams"), makes=("output",))
def artefact(options: argparse.Namespace) -> None:
    """Makes one figure (STEM.svg and STEM.png) or table (STEM.csv and STEM.md)."""
    from shiftbench.config import components, config_file, specs

    plan = config_file.load(options.config)
    refuse_unknown("study", options.study, plan.studies)
    refuse_unknown("artefact", options.name, plan.studies[options.study].artefacts)
    spec = specs.artefact(plan, options.study, options.name)
    specs.refuse_other(spec, options.digest)
    stem = stem_of(options.output, ("svg", "png") if _is_figure(options.name) else ("csv", "md"))

    from shiftbench.evaluation import figure_style, table_files
    from shiftbench.evaluation.scoring import results

    study = results.load(spec, options.scores, options.summary, options.streams)
    module = components.load("artefacts", options.name)
    if _is_figure(options.name):
        figure_style.save(module.draw(study), stem, module.caption(study))
    else:
        table = module.tabulate(study)
        shown = module.shown(table) if hasattr(module, "shown") else None
        table_files.save(table, stem, module.caption(study), shown)
    artefacts = plan.studies[options.study].artefacts
    is_first = options.name == next(filter(_is_figure, artefacts), artefacts[0])
    if is_first and (calibrated := study.calibration()):  # once a study
        print(f"{options.study}: {calibrated}.")


def _source(plan: Config, options: argparse.Namespace) -> Path:
    """Where the data of a stream lie: the user's file or folder, or that of a raw data set.

    UserError where a file of the set was changed after it was fetched.
    """
    from shiftbench.config import user_files
    from shiftbench.data.store import raw

    settings = plan.streams[options.name].settings
    if settings.get(user_files.KEY):
        return Path(settings[user_files.KEY])
    raw.refuse_changed(settings.get("dataset"), options.raw)
    return options.raw / (settings.get("dataset") or "")


def _counting(plan: Config, name: str) -> tuple[ModuleType, Any]:
    """Module and settings of a stream that is counted in shards."""
    from shiftbench.config import components

    source = plan.streams[name]
    if "shards" not in source.settings:
        raise UserError(f"stream {name} is not counted in shards; use the verb stream")
    settings = components.configured("streams", source.family, source.settings)
    return components.load("streams", source.family), settings


def now() -> str:
    """The time, to the second, in UTC as ISO 8601 writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_cost(path: Path, cost: dict[str, Any], started: str) -> None:
    """What a job did cost, on what, and when: of a job that was resumed, its last attempt."""
    told = cost | devices.record() | {"started": started, "ended": now()}
    atomic_files.write(path, json.dumps(told, indent=1, sort_keys=True) + "\n")


def refuse_other_instructions(planned: str) -> None:
    """UserError where a run would not compute as its spec says; a warning where it cannot."""
    from shiftbench.core import instructions

    if planned == instructions.in_force():
        return
    if planned == "portable" and not instructions.available():
        log.warning("this processor has no AVX2: results agree with those of others to rounding")
        return
    raise UserError(
        f"this run is planned with {planned} instructions, but the process has"
        f" {instructions.in_force()} ones; start it as python -m shiftbench"
        f" --instructions {planned} train ..."
    )


def _is_figure(artefact: str) -> bool:
    from shiftbench.config import components

    return components.artefact_kind(artefact) == "figure"


def _paths(options: argparse.Namespace, names: tuple[str, ...]) -> list[Path]:
    """The files of options, of which some have several."""
    values = [getattr(options, name) for name in names]
    return [path for one in values for path in (one if isinstance(one, list) else [one])]
