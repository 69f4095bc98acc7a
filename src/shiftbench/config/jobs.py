"""The plan: every job of a config with its files, its spec and what it asks of the machine.

The rules, `shiftbench plan`, the forecast and the leaderboard all read this list; nothing else
says which jobs there are. Specs are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from shiftbench.config import (
    claims,
    components,
    result_paths,
    shared_warm_ups,
    specs,
    tuning,
    user_files,
)
from shiftbench.config.schema import Config, Resources
from shiftbench.data.store import raw

RAW = Path("data/raw")
STORE = result_paths.STORE
TRIALS = tuning.TRIALS
Block = tuple[int, int]

COMMAND = (
    "{params.job.call} --input {input:q} --output {output:q}"
    " --log {log:q} --threads {threads} --minutes {resources.runtime}"
)
"""The shell command of all rules but one: Snakemake runs a job again where this text changes."""
FETCH = (
    "{params.job.call} --stack light fetch {wildcards.dataset} {wildcards.file:q}"
    " --output {output:q} --log {log:q}"
)
"""The shell command of the rule that fetches raw files."""

FIRST = "--first"
"""Option of the job that makes the first figure of a study, or its first table without one."""

LIGHT = Resources(1, 30, 2500)
"""Resources of jobs about which no study says anything."""
SMALL = Resources(1, 30, 500)
LONG = Resources(1, 240, 2500)
LONG_AND_LARGE = Resources(1, 240, 4000)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job of the workflow.

    wildcards: values of the rule's wildcards, in their order. name: for people. study: empty
    where several share the job. method: of a run. wanted: outputs that the workflow asks for,
    whoever needs them. user_files: inputs that no prefix of a module moves. options: further
    arguments of `shiftbench job`, which change no result.
    """

    rule: str
    wildcards: tuple[str, ...] = ()
    name: str
    study: str = ""
    method: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    make_spec: Callable[[], specs.Spec]
    resources: Resources = LIGHT
    priority: int = 0
    user_files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @cached_property
    def spec(self) -> specs.Spec:
        """Return all that the result depends on."""
        return self.make_spec()

    @property
    def key(self) -> tuple[str, ...]:
        """Return the rule with its wildcards: no two jobs of a config share it."""
        return (self.rule, *self.wildcards)

    def is_of(self, studies: set[str], streams: set[str]) -> bool:
        """Return whether the job is of one of the studies, or builds one of the streams.

        Choices of settings are of the study of the trials, too.
        """
        if not self.study:
            return bool(streams & {*self.wildcards})
        trials = self.rule == "choose_settings" and self.study + TRIALS in studies
        return self.study in studies or trials

    @property
    def gpus(self) -> int:
        """Return how many GPUs the job asks for."""
        return int(self.spec.get("device") == "gpu")

    def words(
        self, file: Path, scratch: Path, raw_data: Path | str, users: Iterable[Path | str]
    ) -> list[str]:
        """Return the words after `python -m shiftbench`, up to the files that it reads and makes.

        file: its spec. scratch: folder of states that are saved. users: folders of components.
        """
        stack = ["--stack", self.spec.get("stack", "light")]
        if "stack" in self.spec:
            stack += ["--instructions", self.spec["instructions"]]
        folders = [str(folder) for folder in users]
        return [
            *(*stack, "job", str(file), "--scratch", str(scratch), "--raw", str(raw_data)),
            *(("--components", *folders) if folders else ()),
            *self.options,
        ]

    @property
    def command(self) -> str:
        """Return the shell command of its rule."""
        return FETCH if self.rule == "fetch_raw_file" else COMMAND


def of_config(config: Config, results: Path | str, name: str, data: Path = RAW) -> list[Job]:
    """Return every job of a config, each after those that it needs.

    results: the folder of the results, as paths of jobs shall have it. name: the config's.
    data: where raw files lie that no job fetches.
    """
    return list(_Plan(config, str(results), name, data).jobs())


def of_stream(config: Config, stream: str, results: Path | str, data: Path = RAW) -> list[Job]:
    """Return every job that a stream of a config needs, each after those that it needs."""
    plan = _Plan(config, str(results), "", data)
    made = list(plan.stream(stream))
    return [*plan.fetches(made), *made]


class _Plan:
    """The jobs of one config, and where their files lie."""

    def __init__(self, config: Config, results: str, name: str, data: Path) -> None:
        self.config, self.results, self.name, self.data = config, results, name, data
        # The config's order of studies is the order of the work.
        self.priority = {
            study: number for number, study in enumerate(reversed(config.studies), start=1)
        }

    def jobs(self) -> Iterator[Job]:
        used = {stream for study in self.config.studies.values() for stream in study.streams}
        streams = [job for name in self.config.streams if name in used for job in self.stream(name)]
        yield from self.fetches(streams)
        yield from streams
        for study in sorted(self.config.studies, key=lambda name: not name.endswith(TRIALS)):
            yield from self.warm_ups(study)
            yield from self.runs(study)
            yield self.scores(study)
            if study.endswith(TRIALS) and study.removesuffix(TRIALS) in self.config.studies:
                yield from self.choices(study.removesuffix(TRIALS))
            yield from self.artefacts(study)
        yield from self.overview()

    def fetches(self, streams: list[Job]) -> Iterator[Job]:
        """Yield the jobs that fetch the raw files of jobs that make streams."""
        files = {file: job for job in streams for file in job.inputs if file not in job.user_files}
        yield from filter(None, map(self.fetch, files))

    def fetch(self, file: str) -> Job | None:
        """Return the job that fetches a raw file; None for a file that is put in place by hand."""
        path = Path(file)
        inside = path.relative_to(RAW).parts if path.is_relative_to(RAW) else ()
        if len(inside) < 2 or not raw.table()[inside[0]].files:
            return None
        dataset, name = inside[0], "/".join(inside[1:])
        streams = self.config.streams.items()
        return Job(
            rule="fetch_raw_file",
            wildcards=(dataset, name),
            name=f"raw file {dataset}/{name}",
            outputs=(file,),
            make_spec=partial(specs.raw_file, dataset, name),
            resources=SMALL,
            priority=self.highest(
                {name for name, one in streams if one.settings.get("dataset") == dataset}
            ),
        )

    def stream(self, name: str) -> Iterator[Job]:
        """Yield the job that builds a stream; of one that is counted in shards, all its jobs."""
        settings, store = self.config.streams[name].settings, self.store_of_stream(name)
        named, files = user_files.named(settings), self.raw_files(name)
        paths = _paths(named)
        own = files if named else ()
        job = partial(Job, priority=self.highest({name}), user_files=own, options=paths)
        build = partial(job, outputs=(store,), wanted=(store,), name=f"stream {name}")
        of_stream = partial(specs.stream, self.config, name)
        if "shards" not in settings:
            yield build(rule="build_stream", wildcards=(name,), inputs=files, make_spec=of_stream)
            return
        folder = store.removesuffix(STORE)
        words = f"{folder}/words.json"
        yield job(
            rule="choose_words",
            wildcards=(name,),
            name=f"vocabulary of {name}",
            inputs=files,
            outputs=(words,),
            make_spec=partial(specs.words, self.config, name),
            resources=LONG_AND_LARGE,
        )
        parts = tuple(f"{folder}/{shard}{STORE}" for shard in range(settings["shards"]))
        for shard, part in enumerate(parts):
            yield job(
                rule="count_shard",
                wildcards=(name, str(shard)),
                name=f"counts of shard {shard} of {name}",
                inputs=(*files, words),
                outputs=(part,),
                make_spec=partial(specs.part, self.config, name, shard),
                resources=LONG,
                options=(*paths, *self.shown_words(name, list(self.config.studies))),
            )
        yield build(
            rule="merge_shards",
            wildcards=(name,),
            inputs=(words, *parts),
            make_spec=of_stream,
            resources=LONG,
            options=(*paths, "--merge"),
        )

    def warm_ups(self, study: str) -> Iterator[Job]:
        """Yield the warm-ups that runs of a study share."""
        plan = self.config.studies[study]
        for stream in plan.streams:
            for name, methods in shared_warm_ups.of_study(self.config, study, stream).items():
                for block in self.config.blocks(study):
                    store = self.warm_up(study, stream, name, block)
                    yield Job(
                        rule="warm_up",
                        wildcards=(study, stream, name, *map(str, block)),
                        name=f"warm-up {stream} {name} {block[0]}-{block[1]}",
                        study=study,
                        inputs=(self.store_of_stream(stream),),
                        outputs=(store, result_paths.cost(store)),
                        make_spec=partial(specs.warm_up, self.config, study, stream, name, block),
                        resources=plan.resources(*methods),
                        priority=self.priority[study],
                    )

    def runs(self, study: str) -> Iterator[Job]:
        """Yield the runs of a study."""
        plan = self.config.studies[study]
        for stream in plan.streams:
            shared = shared_warm_ups.of_study(self.config, study, stream)
            warmed = {method: name for name, methods in shared.items() for method in methods}
            for method in plan.pipelines:
                for block in self.config.blocks(study):
                    store = self.run(study, stream, method, block)
                    inputs = [self.store_of_stream(stream)]
                    if plan.tuning is not None:
                        inputs.append(self.choice(study, stream, method))
                    if method in warmed:
                        inputs.append(self.warm_up(study, stream, warmed[method], block))
                    yield Job(
                        rule="run_learner",
                        wildcards=(study, stream, method, *map(str, block)),
                        name=f"{study}/{method} on {stream}, seeds {block[0]}-{block[1]}",
                        study=study,
                        method=method,
                        inputs=tuple(inputs),
                        outputs=(store, result_paths.cost(store)),
                        wanted=(store,),
                        make_spec=partial(specs.run, self.config, study, stream, method, block),
                        resources=plan.resources(method),
                        priority=self.priority[study],
                        options=self.shown_words(stream, [study]),
                    )

    def scores(self, study: str) -> Job:
        """Return the job that summarises a study."""
        plan = self.config.studies[study]
        runs = (
            self.run(study, stream, method, block)
            for stream in plan.streams
            for method in plan.pipelines
            for block in self.config.blocks(study)
        )
        names = (result_paths.SCORES, result_paths.SUMMARY, result_paths.SCORE_TABLE)
        outputs = tuple(self.of_study(study, name) for name in names)
        return Job(
            rule="summarise_study",
            wildcards=(study,),
            name=f"scores of {study}",
            study=study,
            inputs=(*map(self.store_of_stream, plan.streams), *runs),
            outputs=outputs,
            wanted=outputs,
            make_spec=partial(specs.scores, self.config, study),
            resources=self.light(study),
            priority=self.priority[study],
        )

    def choices(self, study: str) -> Iterator[Job]:
        """Yield the choices of settings of a tuned study, from the scores of its trials."""
        plan = self.config.studies[study]
        for stream in plan.streams if plan.tuning else ():
            for method in plan.methods:
                output = (self.choice(study, stream, method),)
                yield Job(
                    rule="choose_settings",
                    wildcards=(study, stream, method),
                    name=f"choice of settings of {method} on {stream}",
                    study=study,
                    inputs=(self.of_study(study + TRIALS, result_paths.SCORES),),
                    outputs=output,
                    wanted=output,
                    make_spec=partial(specs.choice, self.config, study, stream, method),
                    priority=self.priority[study],
                )

    def artefacts(self, study: str) -> Iterator[Job]:
        """Yield the figures and tables of a study."""
        plan = self.config.studies[study]
        first = next(filter(is_figure, plan.artefacts), next(iter(plan.artefacts), None))
        inputs = (
            *map(self.store_of_stream, plan.streams),
            self.of_study(study, result_paths.SCORES),
            self.of_study(study, result_paths.SUMMARY),
        )
        for name in plan.artefacts:
            figure = is_figure(name)
            kind, suffixes = ("figure", ("svg", "png")) if figure else ("table", ("csv", "md"))
            outputs = tuple(self.of_study(study, f"{kind}s/{name}.{suffix}") for suffix in suffixes)
            yield Job(
                rule="draw_figure" if figure else "write_table",
                wildcards=(study, name),
                name=f"{kind} {name} of {study}",
                study=study,
                inputs=inputs,
                outputs=outputs,
                wanted=outputs,
                make_spec=partial(specs.artefact, self.config, study, name),
                resources=self.light(study),
                priority=self.priority[study],
                options=(FIRST,) if name == first else (),
            )

    def overview(self) -> Iterator[Job]:
        """Yield the ledger if a study judges a claim."""
        folder = f"{self.results}/{result_paths.OVERVIEW}"
        if judging := claims.judging(self.config):
            outputs = tuple(f"{folder}/ledger.{kind}" for kind in ("csv", "md", "svg", "png"))
            yield Job(
                rule="write_ledger",
                name="ledger of claims",
                inputs=tuple(self.of_study(study, "tables/claims.csv") for study in judging),
                outputs=outputs,
                wanted=outputs,
                make_spec=partial(specs.ledger, self.config, self.name),
            )

    def raw_files(self, stream: str) -> tuple[str, ...]:
        """Return the user's files, or the raw files of a stream's data set.

        Of data that cannot be fetched, those that are there.
        """
        settings = self.config.streams[stream].settings
        if named := user_files.named(settings):
            return tuple(str(file) for path in named.values() for file in user_files.files(path))
        dataset = settings.get("dataset")
        if not dataset:
            return ()
        folder = self.data / dataset
        there = sorted(
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
        )
        return tuple(f"{RAW / dataset}/{name}" for name in raw.table()[dataset].files or there)

    def shown_words(self, stream: str, studies: list[str]) -> tuple[str, ...]:
        """Return the option with the words that figures of the studies show of a stream.

        A study shows the words of its first stream.
        """
        words = [
            f"{name}={word}"
            for name in studies
            if self.config.studies[name].streams[0] == stream
            for word in self.config.studies[name].words
        ]
        return ("--shown-words", *words) if words else ()

    def highest(self, streams: set[str]) -> int:
        """Return the priority of the first study on one of the streams."""
        studies = self.config.studies.items()
        return max(
            (self.priority[study] for study, plan in studies if streams & set(plan.streams)),
            default=0,
        )

    def light(self, study: str) -> Resources:
        return LIGHT._replace(memory_mb=self.config.studies[study].memory_mb)

    def store_of_stream(self, name: str) -> str:
        return str(result_paths.stream(self.results, name))

    def run(self, study: str, stream: str, method: str, block: Block) -> str:
        kind = result_paths.RUNS
        return str(result_paths.seeds(self.results, kind, study, stream, method, block))

    def warm_up(self, study: str, stream: str, name: str, block: Block) -> str:
        kind = result_paths.WARM_UPS
        return str(result_paths.seeds(self.results, kind, study, stream, name, block))

    def choice(self, study: str, stream: str, method: str) -> str:
        return self.of_study(study + TRIALS, f"choices/{stream}/{method}.json")

    def of_study(self, study: str, name: str) -> str:
        return str(result_paths.study(self.results, study) / name)


def is_figure(artefact: str) -> bool:
    """Return whether an artefact is a figure, and not a table."""
    return components.artefact_kind(artefact) == "figure"


def _paths(named: dict[str, Path]) -> tuple[str, ...]:
    """Return the option with the paths of the user's files, of which a spec has only the names."""
    paths = [f"{key}={path}" for key, path in named.items()]
    return ("--files", *paths) if paths else ()
