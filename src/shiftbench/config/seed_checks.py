"""Seeds that would see data again: more of them than a stream has realisations.

Seed s sees realisation s modulo their number. Where realisations differ, seeds beyond that number
would count copies as repetitions, and intervals would be too short. Where they do not differ, all
seeds share the data anyway, and captions say so (`scoring.repetitions`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import tuning
from shiftbench.config.compatibility_words import listed
from shiftbench.config.compatible_pipelines import part_of
from shiftbench.config.schema import Config, Stream
from shiftbench.config.yaml_lines import Place

Problem = tuple[Place, str]


def problems(config: Config) -> Iterator[Problem]:
    """Studies and tunings with more seeds than realisations, as (place, message)."""
    for name, study in config.studies.items():
        streams = {key: config.streams[key] for key in study.streams if key in config.streams}
        for key, stream in streams.items():
            # Seeds with settings of their own are no repetitions of data.
            seeds = 1 if study.configurations else study.seeds
            for text in _repeated(key, stream, seeds):
                yield ("studies", name, "seeds"), text
            if study.tuning is not None:
                on_trial = tuning.on_trial(stream, study.tuning)
                for text in _repeated(key, on_trial, study.tuning.seeds, " in `tuning.streams`"):
                    yield ("studies", name, "tuning", "seeds"), text


def _repeated(name: str, stream: Stream, seeds: int, where: str = "") -> Iterator[str]:
    """What is wrong with so many seeds on a stream, and the remedy; nothing if all is well."""
    part = part_of("streams", (stream.family, stream.settings), name)
    if part is None or part.settings is None:
        return
    varied = sorted(part.words("varies"))
    realisations = part.settings.get("realisations", seeds)
    if varied and seeds > realisations:
        yield (
            f'{seeds} repetitions on stream "{name}", which has {realisations} realisation'
            f"{'s' * (realisations > 1)} of {listed(varied)}: the others would count copies of"
            f" these as repetitions; set its realisations to {seeds}{where}, or seeds to"
            f" {realisations}"
        )
