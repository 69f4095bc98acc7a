"""Checks of tuned studies: trials take names of their own, and share streams only if equal."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config.schema import Config, Stream
from shiftbench.config.tuning import TRIALS, on_trial
from shiftbench.config.yaml_lines import Issue


def issues(config: Config) -> Iterator[Issue]:
    """Find names that trials have, and streams of which two studies would try other data."""
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
                message = f'the study "{other}" tries other data of the stream "{stream}"'
                yield ("studies", name, "tuning"), f"{message}; give the stream another name here"
