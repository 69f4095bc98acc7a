"""Derive tables of a published study again from the scores that are committed with it.

The cube of scores and the runs are not committed, so only tables that need nothing but scores by
seed can be derived; `NEEDS_RUNS` names the others, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shiftbench.config import components, specs
from shiftbench.config.schema import Config
from shiftbench.evaluation import table_files
from shiftbench.evaluation.scoring import results
from shiftbench.evaluation.scoring.results import StudyResults

FROM_SCORES = ("claims", "neighbours", "regime-table", "score-table")
"""Tables that need only scores by seed; claims keep the published share of training."""
NEEDS_RUNS = {
    "average-accuracy": "the spread within segments is of scores by task",
    "changepoint-dates": "the dates and the sizes of changes are in the streams",
    "changepoint-table": "the scores of detectors that do not look need the series",
    "continual-table": "the settings that won are read from the runs",
    "detection-table": "alarms on line are read from the runs",
    "published-table": "the printed numbers are found by the specs of streams and runs",
    "rate-distortion-table": "the numbers of words and periods are in the streams",
    "referral-table": "the printed numbers are found by the specs of streams and runs",
    "regression-table": "the units of targets are in the streams",
    "regret-table": "the printed numbers are found by the specs of streams and runs",
    "word-changes": "the words that changed are in the runs",
}
"""All other tables, with the reason why they need files that are not committed."""
SEEDS = re.compile(r" (?:Seeds vary|All seeds see|Looks ahead: ).*\Z", re.DOTALL)
"""End of a caption on what seeds vary: it depends on runs, and is kept as published."""


@dataclass(frozen=True)
class _WithoutRuns(StudyResults):
    """Results of a study without its runs, whose properties are as published.

    seeds: end of the caption on seeds; shares: of the paper's training, by stream and method;
    by_metric: scores as of the function `by_metric`.
    """

    seeds: str = ""
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    by_metric: Mapping[tuple[str, str], Mapping[str, np.ndarray]] = field(default_factory=dict)

    def score(self, stream: str, learner: str, metric: str) -> np.ndarray:
        """Return scores [seed]; NaN for failed seeds."""
        return self.by_metric[stream, metric][learner]

    def share(self, stream: str, method: str, paper: str) -> float:
        """Return the published share, rounded as in the table."""
        return self.shares[stream, method]

    def _caption_notes(self, streams: Sequence[str]) -> tuple[str, str]:
        return self.seeds, ""


_NO_STREAM = xr.Dataset(attrs={"spec": "{}"})
"""Placeholder for a stream, whose store is not published, without settings of a user's data."""


def derive(study: Path, config: Config, target: Path) -> list[str]:
    """Write the tables of a published study that need only scores below the folder `target`.

    Returns their names below the study's folder, such as tables/neighbours.csv.
    """
    published = [path.stem for path in sorted(study.glob("tables/*.csv"))]
    names = [name for name in published if name in FROM_SCORES]
    of_study = cube(scores(study)) if names else xr.Dataset()
    for name in names:
        results_of = _results(study, specs.artefact(config, study.name, name), of_study)
        module = components.load("artefacts", name)
        table = module.tabulate(results_of)
        readable = module.shown(table) if hasattr(module, "shown") else None
        table_files.save(table, target / "tables" / name, module.caption(results_of), readable)
    return [f"tables/{name}.{kind}" for name in names for kind in ("csv", "md")]


def _results(study: Path, spec: Mapping[str, Any], scores: xr.Dataset) -> StudyResults:
    published = (study / "tables" / f"{spec['artefact']}.md").read_text(encoding="utf-8")
    claims = [results.claim(entry) for entry in spec.get("claims") or ()]
    seeds = SEEDS.search(published.rstrip("\n"))
    return _WithoutRuns(
        name=spec["study"],
        title=spec["title"],
        cuts=spec.get("cuts") or "",
        origin=spec.get("origin") or "",
        baseline=spec.get("baseline"),
        reference=spec.get("reference"),
        methods=spec.get("methods") or {},
        tuning=spec.get("tuning") or "",
        labels=spec.get("labels") or {},
        claims=claims,
        cells=spec.get("cells") or {},
        scores=xr.DataTree.from_dict({"/scores": scores}),
        summary=pd.read_csv(study / "summary.csv"),
        streams=dict.fromkeys(scores["stream"].values.tolist(), _NO_STREAM),
        seeds=seeds.group().strip().rstrip(".") if seeds else "",
        shares=_shares(study, claims),
        by_metric=by_metric(scores),
    )


def scores(study: Path) -> pd.DataFrame:
    """Return the committed scores of a study, as rows of `scoring.tidy`."""
    path = study / "scores.csv"
    return pd.read_csv(path, keep_default_na=False, na_values={"score": [""]})


def cube(rows: pd.DataFrame) -> xr.Dataset:
    """Return score and status over stream, learner, metric, seed, from rows of `scoring.tidy`."""
    axes = ["stream", "learner", "metric", "seed"]
    labels = {name: rows[name].unique() for name in axes}
    arrays = rows.set_index(axes)[["score", "status"]].to_xarray().reindex(labels)
    status = arrays["status"].isel(metric=0, drop=True).fillna("").astype(str)
    return xr.Dataset({"score": arrays["score"].astype(float), "status": status})


def by_metric(scores: xr.Dataset) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Return scores [seed] by stream and metric, then by learner, for fast look-ups."""
    values = scores["score"].transpose("stream", "metric", "learner", "seed").values
    streams, metrics, learners = (scores[axis].values for axis in ("stream", "metric", "learner"))
    return {
        (str(stream), str(metric)): dict(zip(map(str, learners), of_learners, strict=True))
        for stream, of_stream in zip(streams, values, strict=True)
        for metric, of_learners in zip(metrics, of_stream, strict=True)
    }


def _shares(study: Path, claims: Sequence[Any]) -> dict[tuple[str, str], float]:
    """Return by stream and method the largest published share of a claim about the method.

    The published share of a claim is the smallest of its methods; these numbers give the same.
    """
    path = study / "tables" / "claims.csv"
    if not path.exists():
        return {}
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    keys = zip(rows["claim"], rows["stream"], strict=True)
    published = dict(zip(keys, map(float, rows["share"]), strict=True))
    shares: dict[tuple[str, str], float] = {}
    for claim, streams in claims:
        for stream in streams:
            for method in claim.holds.methods:
                # A claim that is newer than the tables has no share, so it has no verdict yet.
                share = published.get((claim.name, stream), 0.0)
                shares[stream, method] = max(shares.get((stream, method), 0.0), share)
    return shares
