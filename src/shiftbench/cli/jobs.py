"""The verb `job`, by which the rules make results from a spec, and the verb `fetch`.

A job loads no config: its spec says what to do. It stops if the code or an input differs from what
the spec was planned with. It writes a checksum beside each output. Modules are imported by the
kinds of job that need them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from shiftbench.config import spec_files
from shiftbench.config.spec_files import Spec
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.data.store import checksum, leftovers

VERB = "job"


def parser() -> argparse.ArgumentParser:
    """Return the parser of `job` alone, which is quicker than that of all verbs."""
    alone = argparse.ArgumentParser(prog=f"shiftbench {VERB}", description=job.__doc__)
    add_options(alone)
    alone.set_defaults(verb=job)
    return alone


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `job` to a parser."""
    parser.add_argument("spec", type=Path, help="file that the workflow has written")
    parser.add_argument("--input", type=Path, nargs="*", default=[], help="as the rule lists them")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="likewise")
    parser.add_argument("--log", type=Path, help="file for the progress and the details")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0, help="limit, at which a run stops")
    parser.add_argument("--scratch", type=Path, default=Path("scratch"), help="for checkpoints")
    parser.add_argument("--raw", type=Path, default=Path("data/raw"), help="folder of data sets")
    parser.add_argument("--files", nargs="*", default=[], help="KEY=PATH of the user's files")
    parser.add_argument("--components", type=Path, nargs="*", default=[], help="the user's folders")
    parser.add_argument("--shown-words", nargs="*", default=[], help="STUDY=WORD, of figures")
    parser.add_argument("--merge", action="store_true", help="the stream of its shards")
    parser.add_argument("--first", action="store_true", help="the study's first artefact")


def job(options: argparse.Namespace) -> int:
    """Make the outputs of one job of the workflow from its spec."""
    packages = {folder.resolve().name: folder.resolve() for folder in options.components}
    if packages:
        from shiftbench.config import components

        for package, folder in packages.items():
            if package not in components.packages():
                components.add(package, folder)
    spec = spec_files.read(options.spec, packages, _of_code)
    if spec["kind"] in ("run", "warm-up"):
        from shiftbench.cli import training

        return training.KINDS[spec["kind"]](spec, options)
    make, inputs = KINDS[spec["kind"]], options.input
    if spec["kind"] in ("stream", "words", "part") and not options.merge:
        inputs = inputs[-1:] if spec["kind"] == "part" else []  # all others are raw files
    checksum.refuse_broken(*inputs)
    leftovers.remove(options.output)
    make(spec, options)
    checksum.write(*options.output)
    return 0


def _of_code(*modules: str) -> dict[str, str]:
    """Return the part of a spec that is about code; imported only where files have changed."""
    from shiftbench.config import spec_code

    return spec_code.of_code(*modules)


def fetch(options: argparse.Namespace) -> None:
    """Fetch one raw file of a data set."""
    from shiftbench.data.store import raw

    raw.fetch(options.dataset, options.file, options.output)


def _stream(spec: Spec, options: argparse.Namespace) -> None:
    """Build the store of a stream from its raw files, or from the counts of its shards."""
    from shiftbench.data.store import raw, scratch, zarr_zip

    (output,) = options.output
    if options.merge:
        first, *shards = options.input
        found = atomic_files.read_json(first)
        module, settings = _family(spec, options, len(shards))
        with scratch.beside(output, "counts") as folder, ExitStack() as opened:
            parts = [opened.enter_context(zarr_zip.opened(path)) for path in shards]
            store = module.merge(settings, found, parts, folder)
            zarr_zip.stamp(store, store.attrs["title"], spec)
            zarr_zip.write(store, output)
        return
    source = _source(spec, options)
    module, settings = _family(spec, options)
    store = module.build(settings, source)
    dataset = spec["settings"].get("dataset")
    licence = raw.table()[dataset].licence if dataset else spec["settings"].get("licence", "")
    zarr_zip.stamp(store, store.attrs["title"], spec, licence)
    zarr_zip.write(store, output)


def _words(spec: Spec, options: argparse.Namespace) -> None:
    """Choose the vocabulary of a stream that is counted in shards.

    A family may return more than words: a mapping with the key `words`, which its other stages get.
    """
    source = _source(spec, options)
    module, settings = _family(spec, options)
    found = module.vocabulary(settings, source)
    (output,) = options.output
    atomic_files.write(output, json.dumps(found, indent=0, ensure_ascii=False) + "\n")


def _part(spec: Spec, options: argparse.Namespace) -> None:
    """Count one shard of a stream."""
    from shiftbench.config import shown_words
    from shiftbench.data.store import scratch, zarr_zip

    (output,) = options.output
    source, found = _source(spec, options), atomic_files.read_json(options.input[-1])
    words = found["words"] if isinstance(found, dict) else found
    module, settings = _family(spec, options, spec["shards"])
    shown_words.refuse_absent(options.shown_words, spec["stream"], words)
    with scratch.beside(output, "counts") as folder:
        part = module.count_shard(settings, source, found, spec["shard"], folder / "part")
        zarr_zip.write(part, output)


def _choice(spec: Spec, options: argparse.Namespace) -> None:
    """Choose the best of a method's trials on a stream."""
    from shiftbench.data.store import zarr_zip
    from shiftbench.evaluation.scoring import tuning_choice

    (scores,), (output,) = options.input, options.output
    choice = tuning_choice.best(spec, zarr_zip.read_tree(scores))
    atomic_files.write(output, json.dumps(choice, indent=1, sort_keys=True) + "\n")


def _scores(spec: Spec, options: argparse.Namespace) -> None:
    """Join the runs of a study to its scores, as a cube and as a table, and its summary."""
    from threadpoolctl import threadpool_limits

    from shiftbench.data.store import completed_outputs, zarr_zip
    from shiftbench.evaluation.scoring import summarise, tidy

    cube, *tables = options.output
    number = len(spec["streams"])
    stores = {
        name: zarr_zip.read_any(path)
        for name, path in zip(spec["streams"], options.input[:number], strict=True)
    }
    # The matrices of the regret are small: a second thread would slow them down.
    with threadpool_limits(1):
        runs = [zarr_zip.read(path) for path in options.input[number:]]
        scores, summary = summarise.summarise(spec, stores, runs)
    for path, table in zip(tables, (summary, tidy.tidy(spec, scores)), strict=True):
        atomic_files.write(path, table.to_csv(index=False, lineterminator="\n"))
    zarr_zip.stamp(scores, f"scores of {spec['study']}", spec)
    zarr_zip.write(scores, cube)
    completed_outputs.drop(options.input[number:])


def _artefact(spec: Spec, options: argparse.Namespace) -> None:
    """Make one figure (STEM.svg and STEM.png) or table (STEM.csv and STEM.md)."""
    from shiftbench.evaluation import artefact_files
    from shiftbench.evaluation.scoring import results

    *streams, scores, summary = options.input
    study = results.load(spec, scores, summary, streams)
    artefact_files.save(spec["artefact"], study, _stem(options))
    if options.first and (calibrated := study.calibration()):  # only one job per study writes it
        print(f"{spec['study']}: {calibrated}.")


def _ledger(spec: Spec, options: argparse.Namespace) -> None:
    """Make the ledger of all claims (STEM.csv, .md, .svg and .png) from the studies' tables."""
    from shiftbench.evaluation.overview import ledger

    studies = [(spec["config"], study) for study in spec["studies"]]
    ledger.write(_stem(options), spec["claims"], dict(zip(studies, options.input, strict=True)))


KINDS: dict[str, Callable[[Spec, argparse.Namespace], None]] = {
    "stream": _stream,
    "words": _words,
    "part": _part,
    "choice": _choice,
    "scores": _scores,
    "artefact": _artefact,
    "ledger": _ledger,
}
"""Functions that make the outputs of a job, by the kind of its spec; see training.KINDS too."""


def _stem(options: argparse.Namespace) -> Path:
    """STEM of the files STEM.KIND of a figure or table."""
    return options.output[0].with_suffix("")


def _paths(options: argparse.Namespace) -> dict[str, str]:
    """Return the paths of the user's files, by the setting that names them."""
    return {key: path for key, _, path in (text.partition("=") for text in options.files)}


def _source(spec: Spec, options: argparse.Namespace) -> Path:
    """Return the path of a stream's data: the user's file, or the folder of a raw data set.

    UserError where a file is not the one that the spec was planned with.
    """
    from shiftbench.config import user_files
    from shiftbench.data.store import raw

    named = {key: Path(path) for key, path in _paths(options).items()}
    if not named:
        dataset = spec["settings"].get("dataset")
        raw.refuse_changed(dataset, options.raw)
        return options.raw / (dataset or "")
    for key, path in named.items():
        for name, sha256 in user_files.checksums(path).items():
            if spec["data"].get(f"{key}/{name}") != sha256:
                raise UserError(f"{path}: changed while the workflow ran; start it again")
    return named[user_files.KEY]


def _family(spec: Spec, options: argparse.Namespace, shards: int = 0) -> tuple[ModuleType, Any]:
    """Return the module of a stream's family, and the stream's settings.

    Paths of the user's files and the number of shards are not in the spec, so they are added here.
    """
    from shiftbench.config import components

    settings = spec["settings"] | _paths(options) | ({"shards": shards} if shards else {})
    configured = components.configured("streams", spec["family"], settings)
    return components.load("streams", spec["family"]), configured
