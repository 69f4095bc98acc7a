"""All jobs that a config asks for: their files, what they read, and their specs.

The same that workflow/rules say; a test holds both together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.config import components, specs, tuning, user_files
from shiftbench.config.schema import Config, Resources
from shiftbench.data.store import raw

RAW = Path("data/raw")
STORE = ".zarr.zip"
TRIALS = tuning.TRIALS


class Job(NamedTuple):
    """One job: its rule, what it is called, its study (none of what all share), files and spec.

    wanted: which of its outputs the workflow is asked for, whoever needs them. method: of a run.
    """

    rule: str
    name: str
    study: str
    method: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    wanted: tuple[str, ...]
    spec: dict[str, Any]
    resources: Resources


LIGHT = Resources(1, 30, 2500)
"""What jobs ask for that no study says anything of."""


class Layout:
    """Where the files of a config lie."""

    def __init__(self, config: Config, results: Path) -> None:
        self.config, self.results = config, results

    def stream(self, name: str) -> str:
        return f"{self.results}/streams/{name}{STORE}"

    def streams(self, study: str) -> tuple[str, ...]:
        return tuple(map(self.stream, self.config.studies[study].streams))

    def run(self, study: str, stream: str, variant: str, block: tuple[int, int]) -> str:
        return f"{self.results}/runs/{study}/{stream}/{variant}/{block[0]}-{block[1]}{STORE}"

    def warm_up(self, study: str, stream: str, name: str, block: tuple[int, int]) -> str:
        return f"{self.results}/warm-ups/{study}/{stream}/{name}/{block[0]}-{block[1]}{STORE}"

    def choice(self, study: str, stream: str, learner: str) -> str:
        return f"{self.results}/studies/{study}{TRIALS}/choices/{stream}/{learner}.json"

    def of_study(self, study: str, name: str) -> str:
        return f"{self.results}/studies/{study}/{name}"

    def cost(self, store: str) -> str:
        """Where the cost of a run stands, beside its store."""
        return store.removesuffix(STORE) + ".cost.json"


def of_config(config: Config, results: Path, name: str) -> list[Job]:
    """Every job of a config whose results lie in a folder, each after those that it needs."""
    made = Layout(config, results)
    streams = [job for stream in config.streams for job in _of_stream(made, stream)]
    asked = {stream for study in config.studies.values() for stream in study.streams}
    found = [job for job in streams if not job.study or job.study in asked]
    files = dict.fromkeys(file for job in found for file in job.inputs)
    fetched = [job for file in files if (job := _fetch(file))]
    found = [*fetched, *(job._replace(study="") for job in found)]
    for study in sorted(config.studies, key=lambda one: not one.endswith(TRIALS)):
        found += _of_study(made, study)
    return found + list(_overview(made, name))


def _fetch(file: str) -> Job | None:
    """The job that fetches a raw file; None of a file that is put in place by hand."""
    path = Path(file)
    inside = path.relative_to(RAW).parts if path.is_relative_to(RAW) else ()
    if len(inside) < 2 or not raw.table()[inside[0]].files:
        return None
    dataset, name = inside[0], "/".join(inside[1:])
    resources = Resources(1, 30, 500)
    spec = specs.raw_file(dataset, name)
    of = f"raw file {dataset}/{name}"
    return Job("fetch_raw_file", of, "", "", (file,), (), (), spec, resources)


def _of_stream(made: Layout, name: str) -> Iterator[Job]:
    """Those of a stream, whose name stands for their study."""
    settings = made.config.streams[name].settings
    store, spec = made.stream(name), specs.stream(made.config, name)
    files = _raw_files(settings, spec)

    def job(rule: str, what: str, output: str, inputs: tuple[str, ...], spec: Any, need: Resources,
            wanted: bool = False) -> Job:  # fmt: skip
        asked = (output,) if wanted else ()
        return Job(rule, f"{what} {name}", name, "", (output,), inputs, asked, spec, need)

    if "shards" not in settings:
        yield job("build_stream", "stream", store, files, spec, LIGHT, wanted=True)
        return
    folder = store.removesuffix(STORE)
    words, parts = f"{folder}/words.json", []
    long, large = Resources(1, 240, 2500), Resources(1, 240, 4000)
    of_words = specs.words(made.config, name)
    yield job("choose_words", "vocabulary of", words, files, of_words, large)
    for shard in range(settings["shards"]):
        parts.append(f"{folder}/{shard}{STORE}")
        of_part = specs.part(made.config, name, shard)
        what = f"counts of shard {shard} of"
        yield job("count_shard", what, parts[-1], (*files, words), of_part, long)
    yield job("merge_shards", "stream", store, (words, *parts), spec, long, wanted=True)


def _raw_files(settings: dict[str, Any], spec: dict[str, Any]) -> tuple[str, ...]:
    """The user's files, or the raw files of a stream's data set."""
    if named := user_files.named(settings):
        return tuple(str(file) for path in named.values() for file in user_files.files(path))
    folder = RAW / str(settings.get("dataset"))
    there = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    return tuple(f"{folder}/{name}" for name in list(spec["data"]) or there)


def _of_study(made: Layout, study: str) -> Iterator[Job]:
    config, plan = made.config, made.config.studies[study]
    runs = []
    for stream in plan.streams:
        shared = specs.sharing(config, study, stream)
        warmed = {variant: name for name, those in shared.items() for variant in those}
        for block in config.blocks(study):
            for name, those in shared.items():
                yield _warm_up(made, study, stream, name, those, block)
        for variant in plan.pipelines:
            for block in config.blocks(study):
                runs.append(made.run(study, stream, variant, block))
                yield _run(made, study, stream, variant, warmed.get(variant), block)
    yield from _made_of_runs(made, study, tuple(runs))


def _warm_up(
    made: Layout, study: str, stream: str, name: str, those: list[str], block: tuple[int, int]
) -> Job:
    store = made.warm_up(study, stream, name, block)
    spec = specs.warm_up(made.config, study, stream, name, block)
    outputs, called = (store, made.cost(store)), f"warm-up {stream} {name} {block[0]}-{block[1]}"
    need = made.config.studies[study].resources(*those)
    return Job("warm_up", called, study, "", outputs, (made.stream(stream),), (), spec, need)


def _run(
    made: Layout, study: str, stream: str, variant: str, warmed: str | None, block: tuple[int, int]
) -> Job:
    plan = made.config.studies[study]
    store = made.run(study, stream, variant, block)
    inputs = [made.stream(stream)]
    if plan.tuning is not None:
        inputs.append(made.choice(study, stream, variant))
    if warmed:
        inputs.append(made.warm_up(study, stream, warmed, block))
    spec = specs.run(made.config, study, stream, variant, block)
    called = f"{study}/{variant} on {stream}, seeds {block[0]}-{block[1]}"
    return Job("run_learner", called, study, variant, (store, made.cost(store)), tuple(inputs),
               (store,), spec, plan.resources(variant))  # fmt: skip


def _made_of_runs(made: Layout, study: str, runs: tuple[str, ...]) -> Iterator[Job]:
    """Scores, choices of settings, figures and tables of a study."""
    config, plan = made.config, made.config.studies[study]
    need = Resources(1, 30, plan.memory_mb)
    streams = made.streams(study)
    cube = made.of_study(study, f"scores{STORE}")
    files = (cube, made.of_study(study, "summary.csv"), made.of_study(study, "scores.csv"))
    spec = specs.scores(config, study)
    yield Job("summarise_study", f"scores of {study}", study, "", files, (*streams, *runs), files,
              spec, need)  # fmt: skip
    if study.endswith(TRIALS) and study.removesuffix(TRIALS) in config.studies:
        yield from _choices(made, study.removesuffix(TRIALS), cube)
    for name in plan.artefacts:
        figure = components.artefact_kind(name) == "figure"
        rule, folder = ("draw_figure", "figures") if figure else ("write_table", "tables")
        outputs = tuple(
            made.of_study(study, f"{folder}/{name}.{kind}")
            for kind in (("svg", "png") if figure else ("csv", "md"))
        )
        spec = specs.artefact(config, study, name)
        yield Job(rule, f"{folder[:-1]} {name} of {study}", study, "", outputs,
                  (*streams, *files[:2]), outputs, spec, need)  # fmt: skip


def _choices(made: Layout, study: str, cube: str) -> Iterator[Job]:
    """The choices of settings of a tuned study, from the scores of its trials."""
    plan = made.config.studies[study]
    if plan.tuning is None:
        return
    for stream in plan.streams:
        for learner in plan.methods:
            output = (made.choice(study, stream, learner),)
            called = f"choice of settings of {learner} on {stream}"
            spec = specs.choice(made.config, study, stream, learner)
            yield Job("choose_settings", called, study, "", output, (cube,), output, spec, LIGHT)


def _overview(made: Layout, name: str) -> Iterator[Job]:
    folder = f"{made.results}/overview"
    if judging := specs.judging(made.config):
        outputs = tuple(f"{folder}/ledger.{kind}" for kind in ("csv", "md", "svg", "png"))
        tables = tuple(made.of_study(study, "tables/claims.csv") for study in judging)
        spec = specs.ledger(made.config, name)
        yield Job("write_ledger", "ledger of claims", "", "", outputs, tables, outputs, spec, LIGHT)
    if ranked := specs.ranked(made.config):
        outputs = tuple(f"{folder}/ranks.{kind}" for kind in ("svg", "png"))
        scores = tuple(made.of_study(study, "scores.csv") for study in ranked)
        spec = specs.ranks(made.config)
        yield Job("rank_methods", "ranks of methods", "", "", outputs, scores, outputs, spec, LIGHT)
