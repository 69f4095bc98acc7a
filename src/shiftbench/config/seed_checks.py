"""Checks that seeds differ: that a study has no more of them than its streams have realisations.

Seed s sees realisation s modulo their number. Where realisations differ, seeds beyond that number
would count copies as repetitions, and intervals would be too short. Where they do not differ, all
seeds share the data anyway, and captions say so (`scoring.caption_notes`). If the method draws
nothing at random either, all seeds give the same result, which `check` notes. A method of ours
draws nothing if neither its code nor what it imports uses `core.seeds`. Some methods draw only with
certain settings, and for a user's component this is unknown; then the score table tells afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.config import components, digest, tuning
from shiftbench.config.compatibility_words import listed
from shiftbench.config.compatible_pipelines import part_of
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.schema import Component, Config, Stream, Study
from shiftbench.config.tuning import TRIALS
from shiftbench.config.yaml_lines import Issue

DRAWS = "shiftbench.core.seeds"
"""The module by which all our components draw."""


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


def notes(config: Config) -> Iterator[str]:
    """Yield a note for each study in which all seeds of a method give the same result."""
    trials = {name + TRIALS for name, study in config.studies.items() if study.tuning}
    for name, study in config.studies.items():
        if study.seeds > 1 and not study.configurations and name not in trials:
            yield from _alike(name, study, config)


def _alike(name: str, study: Study, config: Config) -> Iterator[str]:
    """Yield the note on the methods that draw nothing, on streams that do not vary."""
    steady = [key for key in study.streams if not _varies(key, config.streams[key])]
    methods = [key for key, line in study.pipelines.items() if steady and not _draws(line)]
    if not methods:
        return
    all_alike = (len(steady), len(methods)) == (len(study.streams), len(study.pipelines))
    yield (
        f"{name}: all {study.seeds} seeds give the same result for {listed(methods)} on"
        f" {listed(steady)}, because nothing is drawn at random there;"
        " there are no intervals" + ("; set seeds to 1" if all_alike else "")
    )


def _varies(name: str, stream: Stream) -> bool:
    """Return whether realisations of a stream may differ."""
    part = part_of("streams", (stream.family, stream.settings), name)
    if part is None or part.settings is None:
        return True
    if part.settings.get("realisations") == 1:
        return False
    return part.facts.varies is None or bool(part.words("varies"))


def _draws(pipeline: list[Component]) -> bool:
    """Return whether a component of a pipeline draws, or may draw."""
    parts = [(kind, name) for kind, (name, _) in by_kind(pipeline)]
    if any(components.package_of(*part) != components.OURS for part in parts):
        return True
    return DRAWS in digest.closure(*(components.module_name(*part) for part in parts))


def _repeated(name: str, stream: Stream, seeds: int, where: str = "") -> Iterator[str]:
    """Say if a stream has fewer realisations than seeds; where: the setting to change."""
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
