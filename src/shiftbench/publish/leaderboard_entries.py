"""Entries of the leaderboard: results of others, read from their crates and verified.

A learner of a crate is verified if all files of the crate are unchanged, the scores of its study
follow from the runs, and some of its runs, computed again here, are the same. Otherwise its entry
states the problem.
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
from shiftbench.publish import crate, recompute, result_files, store_metadata

SOUND = ("identical", "rounding")
"""Verdicts that count as the same result."""


class Conditions(NamedTuple):
    """Conditions that must be equal for scores to be comparable, each as JSON.

    stream: family, settings, raw data and code of the stream; protocol: what the stream reveals,
    and when `drift` is called; model: the network, or null.
    """

    stream: str
    protocol: str
    model: str

    @classmethod
    def of(cls, run: Mapping[str, Any], code: str) -> Conditions:
        """Return the conditions of a run, from its spec and the digest of its stream's code."""
        stream = {key: run["stream"][key] for key in ("family", "settings", "data")}
        protocol = {key: run[key] for key in ("reveals", "drift")}
        parts = (stream | {"code": code}, protocol, run["model"])
        return cls(*(json.dumps(part, sort_keys=True) for part in parts))


class Entry(NamedTuple):
    """A learner of a crate on a stream.

    scores: by seed and metric, from its table; trials: number of settings tried, 0 without tuning;
    problem: the reason why it is not verified, empty if it is.
    """

    crate: str
    study: str
    stream: str
    learner: str
    conditions: Conditions
    scores: pd.DataFrame
    trials: int
    problem: str


def read(folder: Path, sample: int = 1, seed: int = 0, trust: bool = False) -> list[Entry]:
    """Return the learners of a crate, verified by computing some of their runs again.

    Parameters
    ----------
    folder
        The crate.
    sample
        Number of runs per learner that are computed again.
    seed
        Seed for the choice of these runs.
    trust
        Allow components that came with the crate, which are their author's code, to run here.

    Raises
    ------
    UserError
        If the folder is not a complete, unchanged crate.
    """
    crate.refuse_changed(folder)
    if trust:
        _use_components(folder)
    missing = _missing_components(folder)
    problems = {} if missing else _score_problems(folder)
    return [
        _entry(folder, place, runs, missing or problems[place[0]], sample, seed)
        for place, runs in _learners(folder)
    ]


def _learners(folder: Path) -> Iterator[tuple[tuple[str, str, str], list[Path]]]:
    """Yield study, stream and learner, with their runs."""
    for study in result_files.studies(folder):
        if not study.endswith(TRIALS):
            for place in sorted((folder / result_files.RUNS / study).glob("*/*/")):
                yield (study, place.parent.name, place.name), store_metadata.below(place)


def _entry(
    folder: Path,
    place: tuple[str, str, str],
    runs: list[Path],
    problem: str,
    sample: int,
    seed: int,
) -> Entry:
    study, stream, learner = place
    store = folder / crate.STREAMS / f"{stream}{store_metadata.SUFFIX}"
    code = store_metadata.spec(store)["code"] if store.exists() else ""
    rows = pd.read_csv(result_files.study_folder(folder, study) / "scores.csv")
    scores = rows[(rows["stream"] == stream) & (rows["learner"] == learner)]
    trials = result_files.study_folder(folder, study + TRIALS)
    choice = trials / "choices" / stream / f"{learner}.json"
    return Entry(
        folder.resolve().name,
        *place,
        Conditions.of(store_metadata.spec(runs[0]), code),
        scores.pivot(index="seed", columns="metric", values="score"),
        len(atomic_files.read_json(choice)["trials"]) if choice.exists() else 0,
        problem or _run_problem(folder, runs, sample, seed),
    )


def _run_problem(folder: Path, runs: list[Path], sample: int, seed: int) -> str:
    """Return the problem with a learner's runs after computing some of them again; may be empty."""
    small = [run for run in runs if recompute.is_small(folder, run)]
    if not small or sample < 1:
        return "none of its runs can be computed again here: they are large, or lack their stream"
    for run in recompute.sample(small, sample, seed):
        again = recompute.again(folder, run)
        if again.verdict not in SOUND:
            return f"its run {again.name}, computed again here, differs: {again.note}"
    return ""


def _score_problems(folder: Path) -> dict[str, str]:
    """Return by study why its scores do not follow from its runs; an empty text if they do."""
    problems = dict.fromkeys(
        result_files.studies(folder), "runs or streams of its study are not in the crate"
    )
    for study in recompute.with_scores(folder):
        again = recompute.scores_again(folder, study)
        problem = f"its scores are not those of its runs: {again.note}"
        problems[study] = "" if again.verdict in SOUND else problem
    return problems


def _missing_components(folder: Path) -> str:
    """Return the problem with components that the runs need and that are not here; may be empty."""
    needed = {
        pair
        for run in store_metadata.below(folder / result_files.RUNS)
        for pair in _needs(store_metadata.spec(run))
    }
    missing = sorted(name for kind, name in needed if name not in components.names(kind))
    if not missing:
        return ""
    return f"{', '.join(missing)}: code that came with the crate, which runs here only with --trust"


def _needs(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each component of a run."""
    *combinators, (learner, _) = spec["learner"]
    yield from (("combinators", name) for name, _ in combinators)
    yield "learners", learner
    yield from (("metrics", name) for name in spec["metrics"])
    yield "streams", spec["stream"]["family"]
    if spec["model"]:
        yield "models", spec["model"][0]


def _use_components(folder: Path) -> None:
    """Enable the components that came with a crate. Raises UserError with their errors."""
    folders = {
        path.parent for kind in components.FOLDERS for path in folder.glob(f"config/*/{kind}/")
    }
    if errors := [text for parts in sorted(folders) for text in user_components.use(parts)]:
        raise UserError("\n".join(errors))
