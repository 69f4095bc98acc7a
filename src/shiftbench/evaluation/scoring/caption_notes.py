"""What seeds repeat, and what a stream knows ahead of its learners, in words for captions.

Read from what streams declare (VARIES, AHEAD) with their settings, and from which learners train
a network: these draw its initial weights and the order of minibatches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import xarray as xr

from shiftbench.config import components, declarations, provenance

Streams = Mapping[str, xr.Dataset]
TRAINING = ("initialisation", "order of minibatches")


def varied(streams: Streams, runs: Iterable[xr.Dataset]) -> str:
    """What differs from seed to seed on these streams, and whether data do; may be empty."""
    runs = list(runs)
    of_data = _said(streams, "VARIES", [name for name in streams if not _same(streams[name])])
    what = [*_settings(runs), *(TRAINING if any(map(_trains, runs)) else ()), *of_data]
    told = [f"Seeds vary {', '.join(what)}"] if what else []
    same = [name for name, stream in streams.items() if _same(stream)]
    if same:
        where = "" if len(same) == len(streams) else f" on {', '.join(same)}"
        told.append(f"{'all' if told else 'All seeds'} see the same data{where}")
    return "; ".join(told)


def ahead(streams: Streams) -> str:
    """What these streams use that no learner could know yet; empty for nothing."""
    used = _said(streams, "AHEAD", list(streams))
    return f"Looks ahead: {', '.join(used)}" if used else ""


def _said(streams: Streams, constant: str, asked: Iterable[str]) -> list[str]:
    """The words of a constant of those asked, each with its streams where not all have it."""
    having: dict[str, list[str]] = {}
    for name in asked:
        for word in sorted(_words(streams[name], constant)):
            having.setdefault(word, []).append(name)
    return [
        word if len(names) == len(streams) else f"{word} ({', '.join(names)})"
        for word, names in having.items()
    ]


def _settings(runs: Iterable[xr.Dataset]) -> list[str]:
    """The settings that each seed has drawn for itself, in words; nothing where there are none."""
    drawn = {key for run in runs for key in provenance.spec(run).get("configuration", {})}
    names = sorted({key.partition(".")[2].replace("_", " ") for key in drawn})
    return [f"settings ({', '.join(names)})"] if names else []


def _words(stream: xr.Dataset, constant: str) -> frozenset[str]:
    about = provenance.spec(stream)
    return declarations.words("streams", about["family"], constant, about["settings"])


def _same(stream: xr.Dataset) -> bool:
    """Whether all seeds see the same data, as far as the stream says."""
    silent = declarations.literal("streams", provenance.spec(stream)["family"], "VARIES") is None
    one = stream.sizes.get("realisation", 1) == 1
    return one or not (silent or _words(stream, "VARIES"))


def _trains(run: xr.Dataset) -> bool:
    learner, _ = provenance.spec(run)["learner"][-1]
    known = learner in components.names("learners")
    return known and bool(components.constant("learners", learner, "MODEL", False))
