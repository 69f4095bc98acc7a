"""Checks that a study has no more seeds than its streams have realisations.

Seed s sees realisation s modulo their number. Where realisations differ, seeds beyond that number
would count copies as repetitions, and intervals would be too short. Where they do not differ, all
seeds share the data anyway, and captions say so (`scoring.caption_notes`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import tuning
from shiftbench.config.compatibility_words import listed
from shiftbench.config.compatible_pipelines import part_of
from shiftbench.config.schema import Config, Stream
from shiftbench.config.yaml_lines import Issue


def issues(config: Config) -> Iterator[Issue]:
    """Find studies and tunings with more seeds than realisations."""
    for name, study in config.studies.items():
        streams = {key: config.streams[key] for key in study.streams if key in config.streams}
        for key, stream in streams.items():
            # Seeds with settings of their own are not repetitions of data.
            seeds = 1 if study.configurations else study.seeds
            for message in _repeated(key, stream, seeds):
                yield ("studies", name, "seeds"), message
            if study.tuning is not None:
                on_trial = tuning.on_trial(stream, study.tuning)
                for message in _repeated(key, on_trial, study.tuning.seeds, " in `tuning.streams`"):
                    yield ("studies", name, "tuning", "seeds"), message


def _repeated(name: str, stream: Stream, seeds: int, where: str = "") -> Iterator[str]:
    """Say if a stream has fewer realisations than seeds; where: of the setting to change."""
    component = part_of("streams", (stream.family, stream.settings), name)
    if component is None or component.settings is None:
        return
    varied = sorted(component.words("varies"))
    realisations = component.settings.get("realisations", seeds)
    if varied and seeds > realisations:
        yield (
            f'{seeds} repetitions on stream "{name}", which has {realisations} realisation'
            f"{'s' * (realisations > 1)} of {listed(varied)}: the others would count copies of"
            f" these as repetitions; set its realisations to {seeds}{where}, or seeds to"
            f" {realisations}"
        )
