"""Notes for captions: what differs between seeds, and what a stream uses ahead of time.

Read from what streams declare (varies, ahead) with their settings, and from which learners train
a network: these draw its initial weights and the order of minibatches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from shiftbench.config import components, provenance

Streams = Mapping[str, xr.Dataset]
Source = tuple[str, Mapping[str, Any]]
"""The family of a stream, with its settings."""
TRAINING = ("initialisation", "order of minibatches")
ELSEWHERE = "Reductions from the paper are listed on the study's page"
"""Sentence in figures that refers to the list of reductions on the page of the study."""


class Basis(str):
    """The end of a caption: sentences on what the numbers of a study rest on.

    brief: the part that is drawn in a figure; the rest is in the metadata of its files and on the
    pages of results.
    """

    brief: str

    def __new__(cls, sentences: Iterable[str], brief: Iterable[str]) -> Basis:
        """Join sentences without full stops, some of which may be empty."""
        basis = super().__new__(cls, _joined(sentences))
        basis.brief = _joined(brief)
        return basis


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(f"{one}." for one in sentences if one)


def of_training(learners: Iterable[str]) -> tuple[str, ...]:
    """Return what differs between seeds if a learner trains a network; empty if none does."""
    return TRAINING if any(map(_trains, learners)) else ()


def of_data(sources: Mapping[str, Source], fact: str = "varies") -> dict[str, list[str]]:
    """Return the words that streams declare of their data, each with the names of its streams."""
    declaring: dict[str, list[str]] = {}
    for name, (family, settings) in sources.items():
        for word in sorted(components.facts("streams", family).words(fact, settings)):
            declaring.setdefault(word, []).append(name)
    return declaring


def varied(streams: Streams, runs: Iterable[xr.Dataset]) -> str:
    """Return a sentence on what differs between seeds on these streams; may be empty."""
    runs = list(runs)
    same = [name for name, stream in streams.items() if same_data(stream)]
    data = _declared(streams, "varies", [name for name in streams if name not in same])
    learners = [provenance.spec(run)["learner"][-1][0] for run in runs]
    varying = [*_settings(runs), *of_training(learners), *data]
    notes = [f"Seeds vary {', '.join(varying)}"] if varying else []
    if same:
        where = "" if len(same) == len(streams) else f" on {', '.join(same)}"
        notes.append(f"{'all' if notes else 'All seeds'} see the same data{where}")
    return "; ".join(notes)


def ahead(streams: Streams) -> str:
    """Return a sentence on later data that these streams use; empty if they use none."""
    used = _declared(streams, "ahead", list(streams))
    return f"Looks ahead: {', '.join(used)}" if used else ""


def same_data(stream: xr.Dataset) -> bool:
    """Return whether all seeds see the same data, as far as the stream declares."""
    spec = provenance.spec(stream)
    source = spec["family"], spec["settings"]
    return same_realisations(source, stream.sizes.get("realisation", 1))


def same_realisations(source: Source, number: int) -> bool:
    """Return whether all of a number of realisations of a source have the same data."""
    family, settings = source
    facts = components.facts("streams", family)
    silent = facts.varies is None
    return number == 1 or not (silent or facts.words("varies", settings))


def _declared(streams: Streams, fact: str, names: Iterable[str]) -> list[str]:
    """Return what named streams declare, each with its streams where not all declare it."""
    specs = {name: provenance.spec(streams[name]) for name in names}
    declaring = of_data({name: (of["family"], of["settings"]) for name, of in specs.items()}, fact)
    return [
        word if len(names) == len(streams) else f"{word} ({', '.join(names)})"
        for word, names in declaring.items()
    ]


def _settings(runs: Iterable[xr.Dataset]) -> list[str]:
    """Return a note on the settings that each seed has drawn for itself, or nothing."""
    drawn = {key for run in runs for key in provenance.spec(run).get("configuration", {})}
    names = sorted({key.partition(".")[2].replace("_", " ") for key in drawn})
    return [f"settings ({', '.join(names)})"] if names else []


def _trains(learner: str) -> bool:
    exists = learner in components.names("learners")
    return exists and bool(components.facts("learners", learner).model)
