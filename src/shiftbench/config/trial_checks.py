"""Checks of tuned studies: names of trials are free, and shared streams of trials are equal.

A note names streams on which trials train on rows that the study is judged on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiftbench.config.compatible_pipelines import part_of
from shiftbench.config.schema import Config, Stream
from shiftbench.config.tuning import TRIALS, on_trial
from shiftbench.config.yaml_lines import Issue

SPLITS = "splits into training and test"
"""First words of the fact `varies` of a family whose realisations split the same rows."""
SOURCE = ("dataset", "folder", "path")
"""Settings that determine the rows of a stream."""
NUMBERS = ("realisations", "first_realisation")
"""Settings that determine which splits a stream has."""


def issues(config: Config) -> Iterator[Issue]:
    """Find names that trials need, and streams whose trials differ between two studies."""
    first: dict[str, tuple[str, Stream]] = {}
    for name, study in config.studies.items():
        if study.tuning is None:
            continue
        if (trials := name + TRIALS) in config.studies:
            yield ("studies", trials), f'the trials of "{name}" have this name; rename this study'
        for stream in study.streams:
            if (trials := stream + TRIALS) in config.streams:
                message = f'a stream of the trials of "{name}" has this name; rename this stream'
                yield ("streams", trials), message
            if stream not in config.streams:
                continue
            tried = on_trial(config.streams[stream], study.tuning)
            other, before = first.setdefault(stream, (name, tried))
            if before != tried:
                message = (
                    f'the studies "{other}" and "{name}" tune on different data of the stream'
                    f' "{stream}"'
                )
                yield ("studies", name, "tuning"), f'{message}; rename the stream in "{name}"'


def notes(config: Config) -> Iterator[str]:
    """Yield a note for each stream on which trials train on rows that the study is judged on."""
    for name, study in config.studies.items():
        if study.tuning is None:
            continue
        for stream in study.streams:
            judged = config.streams[stream]
            if _tries_test_rows(judged, on_trial(judged, study.tuning)):
                yield (
                    f'{name}: trials on stream "{stream}" train on rows that the study is judged'
                    " on, because each realisation is another split of the same rows; set test_pool"
                    " below 1 where the family has it and no splits are published, or use one split"
                    " for both: realisations 1 and the same first_realisation"
                )


def _tries_test_rows(judged: Stream, tried: Stream) -> bool:
    """Return whether trials train on test rows of other splits of the same rows."""
    part = part_of("streams", (judged.family, judged.settings), "")
    splits = part is not None and any(word.startswith(SPLITS) for word in part.words("varies"))
    if not splits or judged.family != tried.family or not _alike(SOURCE, judged, tried):
        return False
    pool, kept_out = (one.settings.get("test_pool", 1.0) for one in (judged, tried))
    one_split = judged.settings.get("realisations") == 1 and _alike(NUMBERS, judged, tried)
    return not (pool <= kept_out < 1 or one_split)


def _alike(keys: Sequence[str], one: Stream, other: Stream) -> bool:
    return all(one.settings.get(key) == other.settings.get(key) for key in keys)
