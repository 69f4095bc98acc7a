"""The plan: every job of a config with its files, its spec and its resources.

The rules, `shiftbench plan`, the forecast and the leaderboard all read this list; nothing else
says which jobs there are. Specs are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from shiftbench.config import (
    claims,
    components,
    result_paths,
    shared_warm_ups,
    shown_words,
    specs,
    stream_jobs,
)
from shiftbench.config.job import LIGHT, Job
from shiftbench.config.schema import Config, Resources
from shiftbench.config.tuning import TRIALS

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


def of_config(
    config: Config, results: Path | str, name: str, data: Path = stream_jobs.RAW
) -> list[Job]:
    """Return every job of a config, each after those that it needs.

    results: the folder of the results, the start of the jobs' paths. name: of the config. data: the
    folder of raw files that no job fetches.
    """
    return list(_Plan(config, str(results), name, data).jobs())


def of_stream(
    config: Config, stream: str, results: Path | str, data: Path = stream_jobs.RAW
) -> list[Job]:
    """Return every job that a stream of a config needs, each after those that it needs."""
    of_streams = _Plan(config, str(results), "", data).streams
    made = list(of_streams.making(stream))
    return [*of_streams.fetches(made), *made]


def command(job: Job) -> str:
    """Return the shell command of the rule of a job."""
    return FETCH if job.rule == "fetch_raw_file" else COMMAND


class _Plan:
    """The jobs of one config, and where their files lie."""

    def __init__(self, config: Config, results: str, name: str, data: Path) -> None:
        self.config, self.results, self.name = config, results, name
        # The config's order of studies is the order of the work.
        self.priority = {
            study: number for number, study in enumerate(reversed(config.studies), start=1)
        }
        self.streams = stream_jobs.StreamJobs(config, results, self.priority, data)

    def jobs(self) -> Iterator[Job]:
        used = {stream for study in self.config.studies.values() for stream in study.streams}
        names = [name for name in self.config.streams if name in used]
        streams = [job for name in names for job in self.streams.making(name)]
        yield from self.streams.fetches(streams)
        yield from streams
        for study in sorted(self.config.studies, key=lambda name: not name.endswith(TRIALS)):
            yield from self.warm_ups(study)
            yield from self.runs(study)
            yield self.scores(study)
            if study.endswith(TRIALS) and study.removesuffix(TRIALS) in self.config.studies:
                yield from self.choices(study.removesuffix(TRIALS))
            yield from self.artefacts(study)
        yield from self.overview()

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
                        inputs=(self.streams.store(stream),),
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
                    inputs = [self.streams.store(stream)]
                    if plan.tuning is not None:
                        inputs.append(self.choice(study, stream, method))
                    if method in warmed:
                        inputs.append(self.warm_up(study, stream, warmed[method], block))
                    yield Job(
                        rule="run_method",
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
                        options=shown_words.option(self.config, stream, [study]),
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
            inputs=(*map(self.streams.store, plan.streams), *runs),
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
            *map(self.streams.store, plan.streams),
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

    def light(self, study: str) -> Resources:
        return LIGHT._replace(memory_mb=self.config.studies[study].memory_mb)

    def run(self, study: str, stream: str, method: str, block: Block) -> str:
        kind = result_paths.RUNS
        return str(result_paths.seeds(self.results, kind, study, stream, method, block))

    def warm_up(self, study: str, stream: str, name: str, block: Block) -> str:
        kind = result_paths.WARM_UPS
        return str(result_paths.seeds(self.results, kind, study, stream, name, block))

    def choice(self, study: str, stream: str, method: str) -> str:
        return self.of_study(study + TRIALS, result_paths.choice(stream, method))

    def of_study(self, study: str, name: str) -> str:
        return str(result_paths.study(self.results, study) / name)


def is_figure(artefact: str) -> bool:
    """Return whether an artefact is a figure, and not a table."""
    return components.artefact_kind(artefact) == "figure"
