"""The jobs that make the streams of a config, and the jobs that fetch their raw files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from shiftbench.config import result_paths, shown_words, specs, user_files
from shiftbench.config.job import Job
from shiftbench.config.schema import Config, Resources
from shiftbench.data.store import raw

RAW = Path("data/raw")
SMALL = Resources(1, 30, 500)
LONG = Resources(1, 240, 2500)
LONG_AND_LARGE = Resources(1, 240, 4000)


class StreamJobs:
    """The jobs behind the streams of one config.

    priority: of the jobs of each study. data: the folder of raw files that no job fetches.
    """

    def __init__(
        self, config: Config, results: str, priority: Mapping[str, int], data: Path
    ) -> None:
        self.config, self.results, self.priority, self.data = config, results, priority, data

    def fetches(self, streams: list[Job]) -> Iterator[Job]:
        """Yield the jobs that fetch the raw files of jobs that make streams."""
        files = dict.fromkeys(
            file for job in streams for file in job.inputs if file not in job.user_files
        )
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

    def making(self, name: str) -> Iterator[Job]:
        """Yield the jobs that build a stream: one, or several if it is counted in shards."""
        settings = self.config.streams[name].settings
        named, files = user_files.named(settings), self.raw_files(name)
        paths = _paths(named)
        make_job = partial(
            Job,
            priority=self.highest({name}),
            user_files=files if named else (),
            options=paths,
        )
        build = partial(
            make_job,
            wildcards=(name,),
            name=f"stream {name}",
            outputs=(self.store(name),),
            wanted=(self.store(name),),
            make_spec=partial(specs.stream, self.config, name),
        )
        if "shards" not in settings:
            yield build(rule="build_stream", inputs=files)
            return
        counting = list(self.counting(name, files, make_job, paths))
        yield from counting
        yield build(
            rule="merge_shards",
            inputs=tuple(output for one in counting for output in one.outputs),
            resources=LONG,
            options=(*paths, "--merge"),
        )

    def counting(
        self,
        name: str,
        files: tuple[str, ...],
        make_job: Callable[..., Job],
        paths: tuple[str, ...],
    ) -> Iterator[Job]:
        """Yield the jobs that choose the vocabulary of a stream, and count its shards.

        files: raw ones. make_job: makes a job of the stream. paths: option with the user's files.
        """
        folder = self.store(name).removesuffix(result_paths.STORE)
        words = f"{folder}/words.json"
        yield make_job(
            rule="choose_words",
            wildcards=(name,),
            name=f"vocabulary of {name}",
            inputs=files,
            outputs=(words,),
            make_spec=partial(specs.words, self.config, name),
            resources=LONG_AND_LARGE,
        )
        for shard in range(self.config.streams[name].settings["shards"]):
            yield make_job(
                rule="count_shard",
                wildcards=(name, str(shard)),
                name=f"counts of shard {shard} of {name}",
                inputs=(*files, words),
                outputs=(f"{folder}/{shard}{result_paths.STORE}",),
                make_spec=partial(specs.part, self.config, name, shard),
                resources=LONG,
                options=(*paths, *shown_words.option(self.config, name, self.config.studies)),
            )

    def store(self, name: str) -> str:
        """Return the store of a stream."""
        return str(result_paths.stream(self.results, name))

    def raw_files(self, stream: str) -> tuple[str, ...]:
        """Return the user's files, or the raw files of a stream's data set.

        If a data set cannot be fetched, these are the files that exist.
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

    def highest(self, streams: set[str]) -> int:
        """Return the priority of the first study on one of the streams."""
        studies = self.config.studies.items()
        return max(
            (self.priority[study] for study, plan in studies if streams & set(plan.streams)),
            default=0,
        )


def _paths(named: dict[str, Path]) -> tuple[str, ...]:
    """Return the option with the paths of the user's files; the spec has only their names."""
    paths = [f"{key}={path}" for key, path in named.items()]
    return ("--files", *paths) if paths else ()
