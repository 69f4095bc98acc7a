"""Entries of the leaderboard: results of others, read from their crates and verified.

A method of a crate is verified if all files of the crate are unchanged, the scores of its study
follow from the runs, and some of its runs, computed again here, are the same. Otherwise its entry
states the problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shiftbench.config import components, result_paths, user_components
from shiftbench.config.pipeline_parts import by_kind
from shiftbench.config.tuning import TRIALS
from shiftbench.core.errors import UserError
from shiftbench.evaluation.scoring import tidy_files
from shiftbench.forecast import plan
from shiftbench.publish import (
    crate,
    crate_files,
    crate_plan,
    recompute,
    recompute_scores,
    result_files,
    store_checks,
    store_metadata,
)
from shiftbench.publish.crate_files import Limits
from shiftbench.publish.crate_plan import CratedRun, PlannedCrate

Place = tuple[str, str, str]
"""Study, stream and method."""
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
    """A method of a crate on a stream.

    scores: by seed and metric, from its table; trials: number of settings tried, 0 without tuning;
    problem: the reason why it is not verified, empty if it is.
    """

    crate: str
    study: str
    stream: str
    method: str
    conditions: Conditions
    scores: pd.DataFrame
    trials: int
    problem: str


def read(
    folder: Path,
    sample: int = 1,
    seed: int = 0,
    trust: bool = False,
    limits: Limits = crate_files.DEFAULT,
) -> list[Entry]:
    """Return the methods of a crate, verified by computing some of their runs again.

    Parameters
    ----------
    folder
        The crate.
    sample
        Number of runs per method that are computed again.
    seed
        Seed for the choice of these runs.
    trust
        Allow components that came with the crate, which are their author's code, to run here.
    limits
        The largest crate that is checked, and the time that its runs may take.

    Raises
    ------
    UserError
        If the folder is not a complete, unchanged crate.
    """
    crate.refuse_changed(folder, limits)
    if crate_plan.own_components(folder, limits):
        if not trust:
            return _untrusted(folder, limits)
        user_components.forget()  # an earlier crate may have a package of the same name
    planned = crate_plan.read(folder, trust, limits)
    problems = _score_problems(planned)
    found: dict[Place, list[recompute.Candidate[CratedRun]]] = {}
    for one in recompute.candidates(planned, plan.estimator()):
        if not one.run.study.endswith(TRIALS):
            found.setdefault((one.run.study, one.run.stream, one.run.spec["method"]), []).append(
                one
            )
    return [
        _entry(
            folder,
            place,
            runs[0].run.spec,
            problems[place[0]] or _run_problem(planned, runs, sample, seed),
        )
        for place, runs in sorted(found.items())
    ]


def labels(folders: Sequence[Path]) -> list[str]:
    """Return a name for each crate: of its folder, with those above it where two are called alike.

    UserError for a crate that is there twice.
    """
    parts = [folder.resolve().parts for folder in folders]
    for folder, own in zip(folders, parts, strict=True):
        if parts.count(own) > 1:
            raise UserError(f"{folder} is there twice; give each crate once")
    return [
        next(
            "/".join(own[-n:])
            for n in range(1, len(own) + 1)
            if sum(other[-n:] == own[-n:] for other in parts) == 1
        )
        for own in parts
    ]


def _untrusted(folder: Path, limits: Limits) -> list[Entry]:
    """Return the methods of a crate with code that may not run here, so nothing is verified."""
    entries = []
    for place in sorted(folder.glob(f"{result_files.RUNS}/*/*/*/")):
        runs = store_metadata.below(place)
        study = place.parent.parent.name
        if runs and not study.endswith(TRIALS):
            store_checks.decoded_size(runs[0], limits)
            try:
                spec = store_metadata.spec(runs[0])
                missing = ", ".join(_missing_components(spec))
                problem = (
                    f"{missing}: code that came with the crate, which runs here only with --trust"
                )
                entries.append(
                    _entry(folder, (study, place.parent.name, place.name), spec, problem)
                )
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UserError(f"{runs[0]}: not a run of this workflow ({error})") from None
    return entries


def _entry(folder: Path, place: Place, spec: Mapping[str, Any], problem: str) -> Entry:
    study, stream, method = place
    store = result_paths.stream(folder, stream)
    code = store_metadata.spec(store)["code"] if store.exists() else ""
    rows = tidy_files.read(result_files.study_folder(folder, study) / result_paths.SCORE_TABLE)
    scores = rows[(rows["stream"] == stream) & (rows["learner"] == method)]
    trials = result_files.study_folder(folder, study + TRIALS)
    choice = trials / result_paths.choice(stream, method)
    return Entry(
        folder.resolve().name,
        *place,
        Conditions.of(spec, code),
        scores.pivot(index="seed", columns="metric", values="score"),
        len(crate_files.read_json(choice)["trials"]) if choice.exists() else 0,
        problem,
    )


def _run_problem(
    planned: PlannedCrate, runs: list[recompute.Candidate[CratedRun]], sample: int, seed: int
) -> str:
    """Return the problem with a method's runs after computing some of them again; may be empty."""
    drawn = recompute.draw(runs, recompute.Sample(sample), seed, planned.limits.seconds)
    if not drawn:
        return "none of its runs can be computed again here: they are large, or lack their stream"
    for one in drawn:
        again = recompute.again(planned, one)
        if again.verdict not in SOUND:
            return f"its run {again.name}, computed again here, differs: {again.note}"
    return ""


def _score_problems(planned: PlannedCrate) -> dict[str, str]:
    """Return by study why its scores do not follow from its runs; an empty text if they do."""
    problems = dict.fromkeys(
        planned.plan.studies, "runs or streams of its study are not in the crate"
    )
    for study in recompute_scores.with_scores(planned):
        again = recompute_scores.scores_again(planned, study)
        problem = f"its scores are not those of its runs: {again.note}"
        problems[study] = "" if again.verdict in SOUND else problem
    for again in recompute.streams_again(planned):
        if again.verdict and again.verdict not in SOUND:
            raise UserError(
                f"{planned.folder}: {again.name} is not what its settings give: {again.note}"
            )
    return problems


def _missing_components(spec: Mapping[str, Any]) -> list[str]:
    """Return the components of a run that are not here."""
    needed = {
        *((kind, name) for kind, (name, _) in by_kind(spec["learner"])),
        ("streams", spec["stream"]["family"]),
        *(("metrics", name) for name in spec["metrics"]),
        *([("models", spec["model"][0])] if spec["model"] else []),
    }
    return sorted(name for kind, name in needed if name not in components.names(kind))
