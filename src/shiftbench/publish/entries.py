"""Results of somebody else, from their crate, checked before anything of them is compared.

A learner of a crate is verified where all files are what the crate says, the scores of its study
come out of the runs again, and so do some of its own runs, computed again here. Until then it has a
problem, in words for people.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shiftbench.config import components, user_components
from shiftbench.config.tuning import TRIALS
from shiftbench.core import atomic_files
from shiftbench.core.errors import UserError
from shiftbench.publish import crate, files, recompute, stores

SOUND = ("identical", "rounding")
"""Verdicts under which what was computed again is the same."""


class Setting(NamedTuple):
    """What must be alike for scores to be comparable, each as JSON.

    stream: family, settings, raw data and code of what was learnt from; protocol: what is revealed
    of it, and when the harness tells a learner of time; model: the network, or null.
    """

    stream: str
    protocol: str
    model: str

    @classmethod
    def of(cls, run: Mapping[str, Any], code: str) -> Setting:
        """Of the spec of a run, and the digest of the code of its stream."""
        source = {key: run["stream"][key] for key in ("family", "settings", "data")}
        told = source | {"code": code}, {key: run[key] for key in ("reveals", "drift")}
        return cls(*(json.dumps(one, sort_keys=True) for one in (*told, run["model"])))


class Entry(NamedTuple):
    """A learner of a crate on a stream. scores: by metric and seed, those of its table; trials: of
    settings, 0 of one that was not tuned; problem: why it is not verified, empty where it is."""

    crate: str
    study: str
    stream: str
    learner: str
    setting: Setting
    scores: pd.DataFrame
    trials: int
    problem: str


def read(folder: Path, sample: int = 1, seed: int = 0, trust: bool = False) -> list[Entry]:
    """The learners of a crate, of which so many runs each are computed again, drawn with the seed.

    trust: components that came with the crate may run here: it is their author's code. UserError
    where the folder is no whole crate, or not what it says.
    """
    crate.refuse_changed(folder)
    if trust:
        _use_parts(folder)
    absent = _absent(folder)
    sound = {} if absent else _sound(folder)
    return [
        _entry(folder, place, runs, absent or sound[place[0]], sample, seed)
        for place, runs in _learners(folder)
    ]


def _learners(folder: Path) -> Iterator[tuple[tuple[str, str, str], list[Path]]]:
    """Study, stream and learner, with their runs."""
    for study in files.studies(folder):
        if not study.endswith(TRIALS):
            for place in sorted((folder / files.RUNS / study).glob("*/*/")):
                yield (study, place.parent.name, place.name), stores.below(place)


def _entry(
    folder: Path,
    place: tuple[str, str, str],
    runs: list[Path],
    problem: str,
    sample: int,
    seed: int,
) -> Entry:
    study, stream, learner = place
    spec, store = stores.spec(runs[0]), folder / crate.STREAMS / f"{stream}{stores.SUFFIX}"
    code = stores.spec(store)["code"] if store.exists() else ""
    return Entry(
        folder.resolve().name,
        *place,
        Setting.of(spec, code),
        _scores(folder, study, stream, learner),
        _trials(folder, study, stream, learner),
        problem or _computed_again(folder, runs, sample, seed),
    )


def _computed_again(folder: Path, runs: list[Path], sample: int, seed: int) -> str:
    """What is wrong with a learner's runs, of which some are computed again; empty for nothing."""
    small = [run for run in runs if recompute.is_small(folder, run)]
    if not small or sample < 1:
        return "none of its runs could be computed again here: they are large, or lack their stream"
    for run in recompute.sample(small, sample, seed):
        found = recompute.again(folder, run)
        if found.verdict not in SOUND:
            return f"its run {found.name}, computed again here, is another: {found.note}"
    return ""


def _sound(folder: Path) -> dict[str, str]:
    """By study, why its scores do not follow from its runs; empty where they do."""
    found = dict.fromkeys(
        files.studies(folder), "runs or streams of its study are not in the crate"
    )
    for study in recompute.with_scores(folder):
        again = recompute.scores_again(folder, study)
        wrong = f"its scores are not those of its runs: {again.note}"
        found[study] = "" if again.verdict in SOUND else wrong
    return found


def _scores(folder: Path, study: str, stream: str, learner: str) -> pd.DataFrame:
    """Scores [seed, metric], without seeds that failed."""
    rows = pd.read_csv(files.place(folder, study) / "scores.csv")
    mine = rows[(rows["stream"] == stream) & (rows["learner"] == learner)]
    return mine.pivot(index="seed", columns="metric", values="score")


def _trials(folder: Path, study: str, stream: str, learner: str) -> int:
    """How many settings were tried for a learner."""
    trials = files.place(folder, study + TRIALS)
    path = trials / "choices" / f"{stream}" / f"{learner}.json"
    return len(atomic_files.read_json(path)["trials"]) if path.exists() else 0


def _absent(folder: Path) -> str:
    """Words for components that runs of the crate need and that are not here; empty for none."""
    needed = {
        pair for run in stores.below(folder / files.RUNS) for pair in _needs(stores.spec(run))
    }
    missing = sorted(name for kind, name in needed if name not in components.names(kind))
    if not missing:
        return ""
    return (
        f"{', '.join(missing)}: code that came with the crate, which runs here with --trust alone"
    )


def _needs(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and name of each component that a run has."""
    *combinators, (learner, _) = spec["learner"]
    yield from (("combinators", name) for name, _ in combinators)
    yield "learners", learner
    yield from (("metrics", name) for name in spec["metrics"])
    yield "streams", spec["stream"]["family"]
    if spec["model"]:
        yield "models", spec["model"][0]


def _use_parts(folder: Path) -> None:
    """Lets the components that came with a crate count. UserError with what is wrong with them."""
    rooms = {
        path.parent for kind in components.FOLDERS for path in folder.glob(f"config/*/{kind}/")
    }
    if wrong := [text for room in sorted(rooms) for text in user_components.use(room)]:
        raise UserError("\n".join(wrong))
